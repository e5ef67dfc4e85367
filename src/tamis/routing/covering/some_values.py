"""Values out of a set: so many different ones, plain to read where the set allows it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import cast

from tamis.language.extents import END, START, Range, is_stepped
from tamis.language.numbers import INT_MAX, INT_MIN
from tamis.language.predicates import Value
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain


def some_values(part: Range, attribute: Attribute, count: int) -> list[Value]:
    """`count` different values of a range, in no order; all of them where the range has fewer.

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
    """Whole numbers, else even steps, else one double after the other."""
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
    """Numbers from the start of a range on, for unknowns of which some are integers and some are floats.

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
    """The least integer of an attribute that is not below a number."""
    return INT_MIN if number <= INT_MIN else min(math.ceil(min(number, INT_MAX + 1)), INT_MAX + 1)


def _double_from(number: int | float) -> float:
    """The least double that is not below a number."""
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)
