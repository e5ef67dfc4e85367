"""What was measured, problem by problem, and how it compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from tamis.lab.comparison import Cell, Measurement


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

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]], baseline: str) -> Results:
        """What `to_rows` told."""
        names = [field.name for field in fields(Measurement)]
        cells = []
        for row in rows:
            told = Measurement(**{name: row[name] for name in names}) if row["reason"] is None else None
            cells.append(Cell(row["matcher"], row["workload"], row["subscriptions"], told, row["reason"]))
        return cls(cells, baseline)

    def to_rows(self) -> list[dict[str, Any]]:
        return [cell.to_row() | {"ratio": self.ratio(cell)} for cell in self.cells]

    def _times(self, cell: Cell) -> dict[str, float]:
        beside = self.problems[cell.workload, cell.subscriptions]
        return {each.matcher: each.measurement.seconds_per_event for each in beside if each.measurement is not None}
