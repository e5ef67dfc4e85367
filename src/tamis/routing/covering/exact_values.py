r"""Exact value sets of literals, sample values out of a set, and implication between string patterns (covering).

The language's extents take floats and strings for dense. Here a cut that no value tells from another one is that other
one: after 1.0 is before the next double, and before 'a\0' is after 'a', for no string lies between. Prefixes
(`x LIKE 'abc%'`) are ranges of strings. Other patterns are opaque: of them only a range is known that they stay within.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias, cast

from tamis.language.extents import END, START, Cut, Extent, Range, everything, is_stepped, known_extent, united
from tamis.language.patterns import Wildcard, like_matches, read_like, rlike_matches, write_like
from tamis.language.predicates import INT_MAX, INT_MIN, Leaf, Like, Literal, Not, Present, RLike, Value
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain

_SURROGATES = 0xD800
_AFTER_SURROGATES = 0xE000
_LAST = 0x10FFFF


def settled(extent: Extent, attribute: Attribute) -> Extent:
    """Canonical form of a set of values: equal sets have equal extents."""
    if attribute.domain.kind == "float":
        return _united((_before_double(start), _before_double(end)) for start, end in extent)
    if attribute.domain.kind == "string":
        return _united((_without_nul(start), _without_nul(end)) for start, end in extent)
    return extent


def admitted(leaf: Leaf, attribute: Attribute) -> Extent | None:
    """Set of the values that satisfy a leaf; None where the leaf is opaque."""
    if isinstance(leaf, Like) and not leaf.ignore_case:
        head, rest = _head(leaf)
        if rest == [Wildcard.ANY]:
            return prefixed(head)
        return prefixed(head, alone=True) if not rest else None
    known = known_extent(leaf, attribute)
    return None if known is None else settled(known, attribute)


def around(leaf: Leaf, attribute: Attribute) -> Extent:
    """Superset of the values that satisfy a leaf, opaque or not."""
    exact = admitted(leaf, attribute)
    if exact is not None:
        return exact
    if isinstance(leaf, Like) and not leaf.ignore_case:
        return prefixed(_head(leaf)[0])
    return everything(attribute)


def prefixed(head: str, alone: bool = False) -> Extent:
    """Set of the strings that begin with the head; or of the head alone."""
    start = _without_nul((1, head, 0))
    return ((start, (1, head, 1) if alone else _after_prefix(head)),)


def satisfies(literal: Literal, value: object) -> bool:
    """True if a string satisfies a pattern (a negated one: does not match it)."""
    match literal:
        case Not(leaf):
            return not satisfies(leaf, value)
        case Like(_, str() as pattern, ignore_case):
            return like_matches(pattern, ignore_case, str(value))
        case RLike(_, str() as pattern):
            return rlike_matches(pattern, str(value))
    raise TypeError(f"{literal} is no pattern")


def is_absence(literal: Literal) -> bool:
    """True if a literal is `x IS NULL`."""
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
    """Characters before the first wildcard, and the parts after them."""
    parts = read_like(str(leaf.pattern)) or []
    count = next((k for k, part in enumerate(parts) if isinstance(part, Wildcard)), len(parts))
    return "".join(map(str, parts[:count])), parts[count:]


def _after_prefix(head: str) -> Cut:
    """Cut after all strings that begin with the head: before the head with its last character moved on."""
    while head:
        following = ord(head[-1]) + 1
        if following == _SURROGATES:
            following = _AFTER_SURROGATES
        if following <= _LAST:
            return (1, head[:-1] + chr(following), 0)
        head = head[:-1]
    return END


# Sampling: distinct values out of a set, round ones where the set allows it.


def some_values(part: Range, attribute: Attribute, count: int) -> list[Value]:
    """`count` distinct values of a range, in no order; all of them where the range has fewer.

    Empty for a range of event types that the schema does not have yet.
    """
    if is_stepped(attribute):
        return list(islice(_stepped(part, attribute), count))
    if attribute.domain.kind == "float":
        return list(_floats(part, count))
    if attribute.domain.kind == "binary":  # filters ask for nothing but presence, so any bytes will do
        return [cast("Value", b"")]
    return list(_strings(part, count))


def _stepped(part: Range, attribute: Attribute) -> Iterator[Value]:
    domain = attribute.domain
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        last = len(domain.values) if part[1] == END else part[1][1]
        yield from domain.values[part[0][1] : last]
        return
    first, last = part[0][1], part[1][1]
    if domain.kind == "boolean":
        yield from map(bool, range(first, last))
    elif first > INT_MIN:
        yield from range(first, last)
    elif last <= INT_MAX:
        yield from range(last - 1, first - 1, -1)
    else:
        yield from range(last)


def _floats(part: Range, count: int) -> list[float]:
    """Doubles from a range: whole numbers, else even steps, else one double after the other."""
    low = -math.inf if part[0] == START else part[0][1]
    beyond = part[1] == END
    high = math.inf if beyond else part[1][1]
    if beyond and low == math.inf:
        return [math.inf]

    def within(values: list[float]) -> list[float]:
        kept = dict.fromkeys(v + 0.0 for v in values if low <= v and (v < high or (beyond and v == high)))
        return list(kept)

    if math.isinf(low):
        base = 0.0 if beyond else math.ceil(high) - 1.0
        whole = within([base - k for k in range(count)])
    else:
        whole = within([float(math.ceil(low)) + k for k in range(count)])
    if len(whole) < count and not math.isinf(low) and not beyond:
        inner = sorted(range(1, count + 1), key=lambda k: abs(2 * k - count - 1))
        whole = within([low + (high - low) * (k / (count + 1)) for k in inner])
    if len(whole) >= count:
        return whole
    chain = [low]
    while len(chain) < count and chain[-1] < high:
        chain.append(math.nextafter(chain[-1], math.inf))
    return within(chain)


def _strings(part: Range, count: int) -> list[str]:
    (_, text, side), end = part[0], part[1]

    def before_end(value: str) -> bool:
        return (1, value, 0) < end

    longer = [text + "a" * k for k in range(1, count + 1)]
    plain = longer if side else [text, *longer] if text else [*longer, text]
    plain = [value for value in plain if before_end(value)]
    if len(plain) >= count:
        return plain[:count]
    # The string right after another is that one and a NUL.
    chain = [text + "\0" * k for k in range(side, side + count)]
    return [value for value in chain if before_end(value)]


def ascending(part: Range, depth: int) -> set[int | float]:
    """Candidate numbers from the start of a range on, for unknowns of which some are integers and some are floats.

    In whatever order up to `depth` of them stand in the range, they can stand so among these: each is then the least
    integer, the least double, or the least number that is both, above the one before it.
    """
    low = -math.inf if part[0] == START else part[0][1]
    edge = {_integer_from(low), _double_from(low), _double_from(_integer_from(low))}
    found: set[int | float] = set()
    for _ in range(depth):
        edge = {value for value in edge if (1, value, 0) < part[1] and value not in found}
        found |= edge
        edge = {above for value in edge if value != math.inf for above in _following(value)}
    return found


def _following(value: int | float) -> tuple[int | float, ...]:
    whole = _integer_from(value)
    whole = whole + 1 if whole == value else whole
    double = _double_from(value)
    return whole, math.nextafter(double, math.inf) if double == value else double, _double_from(whole)


def _integer_from(number: int | float) -> int:
    """Least integer of an attribute that is not below a number."""
    return INT_MIN if number <= INT_MIN else min(math.ceil(min(number, INT_MAX + 1)), INT_MAX + 1)


def _double_from(number: int | float) -> float:
    """Least double that is not below a number."""
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


# Implication between patterns: sound, and complete enough for patterns that differ in length or case.

Parts: TypeAlias = Sequence[str | Wildcard]


def pattern_implies(stronger: Like | RLike, weaker: Like | RLike) -> bool:
    """True if every string that satisfies the first pattern provably satisfies the second; both are on one attribute.

    >>> pattern_implies(Like("title", "%oak desk%"), Like("title", "%oak%"))
    True
    >>> pattern_implies(Like("title", "Oak%"), Like("title", "oak%", ignore_case=True))
    True
    """
    if stronger == weaker:
        return True
    if isinstance(stronger, RLike) or isinstance(weaker, RLike) or (stronger.ignore_case and not weaker.ignore_case):
        return False
    ours, theirs = read_like(str(stronger.pattern)) or [], read_like(str(weaker.pattern)) or []
    if weaker.ignore_case:
        theirs = _parts(str(weaker.pattern).lower())
        ours = _parts(str(stronger.pattern).lower()) if stronger.ignore_case else _lowered(ours)
    return _includes(_parts(write_like(ours)), theirs)


def _parts(pattern: str) -> list[str | Wildcard]:
    return read_like(pattern) or []


def _lowered(parts: Parts) -> list[str | Wildcard]:
    """Pattern parts of the lower case of a string with these parts: letters outside ASCII may become several."""
    lowered: list[str | Wildcard] = []
    for part in parts:
        if isinstance(part, str) and part.isascii():
            lowered.append(part.lower())
        else:
            lowered += [Wildcard.ANY] if part is Wildcard.ANY else [Wildcard.ONE, Wildcard.ANY]
    return lowered


def _includes(ours: Parts, theirs: Parts) -> bool:
    """True if one pattern's parts accept the other's as text: `%` matched only by `%`, `_` by no letter."""
    all_of_ours = (1 << len(ours) + 1) - 1
    places: dict[str | Wildcard, int] = {}  # bit k: ours[k] is this
    for k, own in enumerate(ours):
        places[own] = places.get(own, 0) | 1 << k
    takes_one = all_of_ours & ~places.get(Wildcard.ANY, 0)
    reached = 1  # bit k: their parts so far take the first k of ours
    for part in theirs:
        if part is Wildcard.ANY:
            reached = -(reached & -reached) & all_of_ours
        else:
            reached = (reached & (takes_one if part is Wildcard.ONE else places.get(part, 0))) << 1 & all_of_ours
        if not reached:
            return False
    return bool(reached >> len(ours))
