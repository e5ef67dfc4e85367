"""What was measured, problem by problem, and how it compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tamis.comparison import Cell


@dataclass(frozen=True)
class Results:
    """The cells in the order in which they were found; ratios are to the `baseline`'s time on the same problem."""

    cells: Sequence[Cell]
    baseline: str

    @cached_property
    def problems(self) -> dict[tuple[str, int], list[Cell]]:
        """The cells by workload and number of subscriptions."""
        found: dict[tuple[str, int], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.workload, cell.subscriptions), []).append(cell)
        return found

    @property
    def matchers(self) -> list[str]:
        return list(dict.fromkeys(cell.matcher for cell in self.cells))

    @property
    def complete(self) -> bool:
        """Whether every cell was measured."""
        return all(cell.measurement is not None for cell in self.cells)

    def ratio(self, cell: Cell) -> float | None:
        """Its time by the baseline's; None where one of them was not measured."""
        times = self._times(cell)
        if cell.matcher not in times or self.baseline not in times:
            return None
        return times[cell.matcher] / times[self.baseline]

    def is_best(self, cell: Cell) -> bool:
        """Whether no other matcher was faster on this problem."""
        times = self._times(cell)
        return cell.matcher in times and times[cell.matcher] == min(times.values())

    def to_rows(self) -> list[dict[str, Any]]:
        return [cell.to_row() | {"ratio": self.ratio(cell)} for cell in self.cells]

    def _times(self, cell: Cell) -> dict[str, float]:
        beside = self.problems[cell.workload, cell.subscriptions]
        return {each.matcher: each.measurement.seconds_per_event for each in beside if each.measurement is not None}
