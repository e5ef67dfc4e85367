"""What a conjunct says of two attributes compared with each other, as sets of orders that their values can be in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from tamis.language.predicates import Literal, Not, Versus
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain, Schema

Pair = tuple[str, str]
"""Two attributes, by name in ascending order."""

LESS, SAME, MORE, APART = 1, 2, 4, 8
"""A value of the first attribute of a pair against one of the second; `APART` is for domains in partial order."""

_FORWARD = {"<": LESS, "<=": LESS | SAME, "=": SAME}
_BACKWARD = {"<": MORE, "<=": MORE | SAME, "=": SAME}


def versus_of(literal: Literal) -> Versus | None:
    """The comparison of two attributes that a literal is, or negates."""
    leaf = literal.leaf if isinstance(literal, Not) else literal
    return leaf if isinstance(leaf, Versus) else None


def pair_of(versus: Versus) -> Pair:
    return (versus.left, versus.right) if versus.left <= versus.right else (versus.right, versus.left)


@dataclass(frozen=True, slots=True)
class Compared:
    """Orders of the values of a pair, both of which are present.

    Each value of the one stands to each value of the other in an order that is among `every`; for each of `some` two
    values stand in an order that is among it, which is a part of `every`. Attributes with one value have no `some`.
    """

    every: int
    some: frozenset[int] = frozenset()

    @property
    def impossible(self) -> bool:
        """Whether no two values are so."""
        return not self.every or 0 in self.some

    def implies(self, literal: Literal) -> bool:
        """Whether a comparison of the same pair follows; exact for two attributes with one value each."""
        versus = versus_of(literal)
        assert versus is not None
        orders = _orders(versus)
        if isinstance(literal, Not):
            return not self.every & orders
        return any(not part & ~orders for part in (self.every, *self.some))


def compared(literals: Iterable[Literal], pair: Pair, schema: Schema) -> Compared:
    """What comparisons of one pair say together.

    >>> one = {"attributes": {"p": "float", "q": "float"}, "event_types": {"e": {"p": "optional", "q": "optional"}}}
    >>> both = compared([Versus("q", "<=", "p"), Not(Versus("p", "=", "q"))], ("p", "q"), Schema.from_dict(one))
    >>> both.every == MORE, both.implies(Versus("q", "<", "p"))
    (True, True)
    """
    attributes = [schema.attributes[name] for name in pair]
    given = [(literal, _orders(versus)) for literal in literals if (versus := versus_of(literal)) is not None]
    excluded = reduce(or_, (orders for literal, orders in given if isinstance(literal, Not)), 0)
    wanted = [orders for literal, orders in given if not isinstance(literal, Not)]
    every = (LESS | SAME | MORE | (APART if any(map(_is_partial, attributes)) else 0)) & ~excluded
    if any(attribute.multiple for attribute in attributes):
        return Compared(every, frozenset(every & orders for orders in wanted))
    for orders in wanted:
        every &= orders
    return Compared(every)


def by_pair(literals: Iterable[Literal]) -> Mapping[Pair, tuple[Literal, ...]]:
    """Comparisons of attributes with each other, by pair."""
    found: dict[Pair, tuple[Literal, ...]] = {}
    for literal in literals:
        versus = versus_of(literal)
        if versus is not None:
            pair = pair_of(versus)
            found[pair] = (*found.get(pair, ()), literal)
    return found


def _orders(versus: Versus) -> int:
    """The orders of a pair for which a comparison holds."""
    return (_FORWARD if versus.left <= versus.right else _BACKWARD)[versus.operator]


def _is_partial(attribute: Attribute) -> bool:
    return isinstance(attribute.domain, EnumeratedDomain | HierarchicalDomain)
