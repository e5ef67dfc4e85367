"""The values that a literal admits, exactly: two sets of values are equal iff their extents are.

The language's extents take floats and strings for dense. Here a cut that no value tells from another one is that other
one: after 1.0 is before the next double, and before 'a\\0' is after 'a', for no string lies between. Prefixes
(`x LIKE 'abc%'`) are ranges of strings. Other patterns are opaque: of them only a range is known that they stay within.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tamis.language.extents import END, Cut, Extent, Range, everything, known_extent, united
from tamis.language.patterns import Wildcard, like_matches, read_like, rlike_matches
from tamis.language.predicates import Leaf, Like, Literal, Not, Present, RLike
from tamis.schema import Attribute

_SURROGATES = 0xD800
_AFTER_SURROGATES = 0xE000
_LAST = 0x10FFFF


def settled(extent: Extent, attribute: Attribute) -> Extent:
    """The same values in the one form for this set of values."""
    if attribute.domain.kind == "float":
        return _united((_before_double(start), _before_double(end)) for start, end in extent)
    if attribute.domain.kind == "string":
        return _united((_without_nul(start), _without_nul(end)) for start, end in extent)
    return extent


def admitted(leaf: Leaf, attribute: Attribute) -> Extent | None:
    """The values that satisfy a leaf; None where it is opaque."""
    if isinstance(leaf, Like) and not leaf.ignore_case:
        head, rest = _head(leaf)
        if rest == [Wildcard.ANY]:
            return prefixed(head)
        return prefixed(head, alone=True) if not rest else None
    known = known_extent(leaf, attribute)
    return None if known is None else settled(known, attribute)


def around(leaf: Leaf, attribute: Attribute) -> Extent:
    """A set that holds all values that satisfy a leaf, opaque or not."""
    exact = admitted(leaf, attribute)
    if exact is not None:
        return exact
    if isinstance(leaf, Like) and not leaf.ignore_case:
        return prefixed(_head(leaf)[0])
    return everything(attribute)


def prefixed(head: str, alone: bool = False) -> Extent:
    """The strings that begin with the head; or the head alone."""
    start = _without_nul((1, head, 0))
    return ((start, (1, head, 1) if alone else _after_prefix(head)),)


def satisfies(literal: Literal, value: object) -> bool:
    """Whether one string satisfies a pattern, or does not where it is negated."""
    match literal:
        case Not(leaf):
            return not satisfies(leaf, value)
        case Like(_, str() as pattern, ignore_case):
            return like_matches(pattern, ignore_case, str(value))
        case RLike(_, str() as pattern):
            return rlike_matches(pattern, str(value))
    raise TypeError(f"{literal} is no pattern")


def is_absence(literal: Literal) -> bool:
    """Whether a literal is `x IS NULL`."""
    return isinstance(literal, Not) and isinstance(literal.leaf, Present)


def _united(ranges: Iterable[Range]) -> Extent:
    return united((start, end) for start, end in ranges if start < end)


def _before_double(cut: Cut) -> Cut:
    if len(cut) < 3 or cut[2] == 0:
        return cut
    above = math.nextafter(cut[1], math.inf)
    return END if cut[1] == math.inf else (1, above + 0.0, 0)


def _without_nul(cut: Cut) -> Cut:
    if len(cut) == 3 and cut[2] == 0 and cut[1].endswith("\0"):
        return (1, cut[1][:-1], 1)
    return cut


def _head(leaf: Like) -> tuple[str, list[str | Wildcard]]:
    """The characters before the first wildcard, and what follows."""
    parts = read_like(str(leaf.pattern)) or []
    count = next((k for k, part in enumerate(parts) if isinstance(part, Wildcard)), len(parts))
    return "".join(map(str, parts[:count])), parts[count:]


def _after_prefix(head: str) -> Cut:
    """The cut after all strings that begin with the head: before the head with its last character moved on."""
    while head:
        following = ord(head[-1]) + 1
        if following == _SURROGATES:
            following = _AFTER_SURROGATES
        if following <= _LAST:
            return (1, head[:-1] + chr(following), 0)
        head = head[:-1]
    return END
