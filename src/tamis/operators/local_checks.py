"""Constraints that one predicate's own bindings decide, for all cases that want it at once.

Comparisons of a predicate's only variable with numbers are kept as intervals and decided by binary search over the
sorted bindings, however many cases compare it; everything else case by case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tamis.language.calls import Constraint, Variable
from tamis.operators.answers import Binding
from tamis.operators.joining import Fields, Test, test_of

_EXACT = 1 << 53


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers from `low` to `high`; an open end leaves the number itself out."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    @classmethod
    def of(cls, constraints: Sequence[Constraint]) -> Interval | None:
        """The numbers that satisfy all of them; None where some is no comparison of a variable with a number."""
        found = cls()
        for one in constraints:
            bound = one.right
            plain = isinstance(one.left, Variable) and isinstance(bound, int | float) and not isinstance(bound, bool)
            if not plain or abs(bound) > _EXACT or one.operator not in ("=", "<", "<=", ">", ">="):  # type: ignore[arg-type]
                return None
            found = found._within(one.operator, float(bound))  # type: ignore[arg-type]
        return found

    def _within(self, operator: str, bound: float) -> Interval:
        low, low_open, high, high_open = self.low, self.low_open, self.high, self.high_open
        if operator in ("=", ">", ">="):
            low, low_open = max((low, low_open), (bound, operator == ">"))
        if operator in ("=", "<", "<="):
            high, closed = min((high, not high_open), (bound, operator != "<"))
            high_open = not closed
        return Interval(low, high, low_open, high_open)


@dataclass(slots=True)
class LocalChecks:
    """Checks by the cases that want one predicate, of its bindings, by case."""

    _intervals: dict[int, list[Interval]] = field(default_factory=dict)
    _tests: dict[int, list[tuple[tuple[str, ...], tuple[Test, ...]]]] = field(default_factory=dict)
    _table: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None = None

    def add(self, case: int, names: tuple[str, ...], constraints: Sequence[Constraint]) -> None:
        """A case that calls the predicate with these variables, in order, under these constraints."""
        interval = Interval.of(constraints) if len(names) == 1 else None
        if interval is not None:
            self._intervals.setdefault(case, []).append(interval)
            self._table = None
        else:
            self._tests.setdefault(case, []).append((names, tuple(map(test_of, constraints))))

    def remove(self, case: int) -> None:
        if self._intervals.pop(case, None) is not None:
            self._table = None
        self._tests.pop(case, None)

    def __bool__(self) -> bool:
        return bool(self._intervals or self._tests)

    def failing(self, bindings: Sequence[Binding], fields: Fields) -> npt.NDArray[np.int64]:
        """The cases that none of these bindings satisfies; one may come twice."""
        failing = [
            case
            for case, asked in self._tests.items()
            if not all(_some(bindings, names, tests, fields) for names, tests in asked)
        ]
        found = np.array(failing, np.int64)
        return np.concatenate([found, self._outside(bindings)]) if self._intervals else found

    def _outside(self, bindings: Sequence[Binding]) -> npt.NDArray[np.int64]:
        cases, ends, opened = self._ends()
        numbers = sorted(
            value for value, *_ in bindings if isinstance(value, int | float) and not isinstance(value, bool)
        )
        if any(abs(value) > _EXACT and not math.isinf(value) for value in numbers):
            # Doubles would blur these, and so would NumPy: compared one by one, as Python compares.
            rows = zip(*ends.tolist(), *opened.tolist(), strict=True)
            inside = np.array([any(_holds(value, *row) for value in numbers) for row in rows], np.bool_)
        else:
            values = np.array(numbers, np.float64)
            first = np.where(opened[0], values.searchsorted(ends[0], "right"), values.searchsorted(ends[0], "left"))
            last = np.where(opened[1], values.searchsorted(ends[1], "left"), values.searchsorted(ends[1], "right"))
            inside = first < last
        return cases[~inside]

    def _ends(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        if self._table is None:
            rows = [(case, each) for case, some in self._intervals.items() for each in some]
            cases = np.array([case for case, _ in rows], np.int64)
            ends = np.array([[each.low for _, each in rows], [each.high for _, each in rows]])
            opened = np.array([[each.low_open for _, each in rows], [each.high_open for _, each in rows]])
            self._table = cases, ends, opened
        return self._table


def _some(bindings: Sequence[Binding], names: tuple[str, ...], tests: tuple[Test, ...], fields: Fields) -> bool:
    return any(
        all(test(bound, fields) for test in tests)
        for bound in (dict(zip(names, binding, strict=True)) for binding in bindings)
    )


def _holds(value: float, low: float, high: float, low_open: bool, high_open: bool) -> bool:
    return (value > low if low_open else value >= low) and (value < high if high_open else value <= high)
