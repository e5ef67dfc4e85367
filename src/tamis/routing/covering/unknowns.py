"""Values for unknowns that are compared with each other: found if there are any, by trying few enough to try them all.

All sets that the unknowns are drawn from cut the line into cells within which no set begins or ends. Of a solution only
the cells and the order within each cell matter, so as many values of a cell as there are unknowns are enough to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tamis.language.extents import END, START, Extent, Range, includes
from tamis.language.predicates import Literal, Value
from tamis.routing.covering.exact_values import ascending, satisfies, some_values
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain

MOST_TRIED = 20_000
_MOST_VALUES = 2_000


class UndecidedError(Exception):
    """Existence of values left undecided: the search was too long, or a pattern stood in the way."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value to be found within a set, that satisfies the patterns."""

    attribute: Attribute
    values: Extent
    patterns: tuple[Literal, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right` between two unknowns, by number; it must hold, or must not."""

    left: int
    operator: str
    right: int
    holds: bool


def solve(unknowns: Sequence[Unknown], comparisons: Sequence[Comparison]) -> list[Value] | None:
    """A value for each unknown so that all comparisons are as wanted; None if there are none. May be undecided."""
    tries = [_tries(unknown, unknowns) for unknown in unknowns]
    complete = True
    for number, unknown in enumerate(unknowns):
        if unknown.patterns:
            tries[number] = [v for v in tries[number] if all(satisfies(p, v) for p in unknown.patterns)]
            complete = False
    order = sorted(range(len(unknowns)), key=lambda number: len(tries[number]))
    found = _Search(unknowns, comparisons, tries, order).run()
    if found is None and not complete:
        raise UndecidedError
    return found


class _Search:
    """Backtracking: unknowns in the given order, each comparison looked at once both its sides are there."""

    def __init__(
        self,
        unknowns: Sequence[Unknown],
        comparisons: Sequence[Comparison],
        tries: Sequence[Sequence[Value]],
        order: Sequence[int],
    ) -> None:
        self._unknowns, self._tries, self._order = unknowns, tries, order
        place = {number: k for k, number in enumerate(order)}
        self._due: list[list[Comparison]] = [[] for _ in order]
        for comparison in comparisons:
            self._due[max(place[comparison.left], place[comparison.right])].append(comparison)
        self._found: dict[int, Value] = {}
        self._tried = 0

    def run(self) -> list[Value] | None:
        if not self._go_on(0):
            return None
        return [self._found[number] for number in range(len(self._unknowns))]

    def _go_on(self, depth: int) -> bool:
        if depth == len(self._order):
            return True
        number = self._order[depth]
        for value in self._tries[number]:
            self._tried += 1
            if self._tried > MOST_TRIED:
                raise UndecidedError
            self._found[number] = value
            if all(self._as_wanted(comparison) for comparison in self._due[depth]) and self._go_on(depth + 1):
                return True
        return False

    def _as_wanted(self, comparison: Comparison) -> bool:
        left, right = self._found[comparison.left], self._found[comparison.right]
        domain = self._unknowns[comparison.left].attribute.domain
        if comparison.operator == "=":
            return (left == right) == comparison.holds
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            below = domain.position(str(left)) in domain.satisfying(comparison.operator, str(right))
            return below == comparison.holds
        below = left < right if comparison.operator == "<" else left <= right  # type: ignore[operator]
        return below == comparison.holds


def _tries(unknown: Unknown, together: Sequence[Unknown]) -> list[Value]:
    """Enough values of an unknown to decide whether there is a solution."""
    domain = unknown.attribute.domain
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        found = [v for part in unknown.values for v in some_values(part, unknown.attribute, _MOST_VALUES + 1)]
        if len(found) > _MOST_VALUES or (not found and unknown.values):
            raise UndecidedError
        return found
    mixed = len({other.attribute.domain.kind for other in together}) > 1
    values: list[Value] = []
    for cell in _cells(together):
        if not includes(unknown.values, (cell,)):
            continue
        if mixed:
            values += _of_kind(ascending(cell, len(together)), domain.kind)
        else:
            values += some_values(cell, unknown.attribute, len(together))
        if len(values) > _MOST_VALUES:
            raise UndecidedError
    return values


def _cells(unknowns: Sequence[Unknown]) -> list[Range]:
    cuts = {cut for unknown in unknowns for part in unknown.values for cut in part}
    ordered = sorted(cuts | {START, END})
    return list(pairwise(ordered))


def _of_kind(numbers: set[int | float], kind: str) -> list[Value]:
    """Values that are an integer, or a double."""
    if kind == "integer":
        return [int(n) for n in sorted(numbers) if n == n and abs(n) < 2**64 and n == int(n)]
    return [float(n) for n in sorted(numbers) if float(n) == n]
