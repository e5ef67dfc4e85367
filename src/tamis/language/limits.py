"""Limits on the size of a filter. Each has its own error, which names the size found and the remedy."""

from __future__ import annotations

from dataclasses import dataclass

_DEEPEST = 8  # more than is within each other in any canonical text without calls


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one filter's text, tree, normal form and patterns."""

    text: int = 500_000
    """Characters in the text."""
    depth: int = 40
    """Parentheses, NOTs and minus signs within each other; the parser recurses on them."""
    terms: int = 20_000
    """Comparisons in the text."""
    conjuncts: int = 2_000
    """Alternatives in the normal form."""
    literals: int = 50_000
    """Comparisons in the normal form, over all its alternatives."""
    steps: int = 250_000
    """Comparisons and listed values that are looked at, over all the steps to the normal form."""
    bound: int = 50
    """Calls with variables, and comparisons of these, in one alternative; all of them look at each other."""
    bound_in_all: int = 2_000
    """The same over all alternatives."""
    arithmetic: int = 100
    """Numbers, variables and attributes in one side of a comparison of variables."""
    tables: int = 16
    """Tables in a join."""
    pattern: int = 1_000
    """Characters in a LIKE or RLIKE pattern."""
    wildcards: int = 1_000
    """`_` and `%` inside a LIKE pattern; `%` at either end are not counted."""
    wildcards_in_all: int = 500_000
    """The same over all the patterns of a filter. Those at either end alone cost nothing: values are scanned once for
    all the literals there are, and only patterns with wildcards inside are looked at by themselves."""
    pattern_memory: int = 1 << 20
    """Bytes that RE2 may use for one RLIKE pattern."""

    def admit(self, canonical: str) -> bool:
        """True if the canonical text of an admitted filter, which calls nothing, is so short that it is admitted too.

        False says nothing: a longer text has to be read.
        """
        shortest = min(self.text, self.terms, self.pattern, self.wildcards, self.wildcards_in_all)
        return len(canonical) <= shortest and self.depth >= _DEEPEST


DEFAULT_LIMITS = Limits()
