"""Results of `tamis bench`, problem by problem, with tables that compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from rich.table import Column
from rich.text import Text

from tamis.cli.base.failures import CommandError
from tamis.cli.base.terminal import PartedTable
from tamis.lab.comparison import Cell, Measurement
from tamis.lab.measuring.numbers import duration, figures, markdown, short


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
        """True if every cell was measured."""
        return all(cell.measurement is not None for cell in self.cells)

    def ratio(self, cell: Cell) -> float | None:
        """Its time by the baseline's; None where one of them was not measured."""
        times = self._times(cell)
        if cell.matcher not in times or self.baseline not in times:
            return None
        return times[cell.matcher] / times[self.baseline]

    def is_best(self, cell: Cell) -> bool:
        """True if no other matcher was faster on this problem."""
        times = self._times(cell)
        return cell.matcher in times and times[cell.matcher] == min(times.values())

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]], baseline: str) -> Results:
        """Results from the rows of `to_rows`."""
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


# The results as a table: all of them for the terminal, time and ratio for a page.

_NUMBERS = ("time/event", "ratio", "matches")
_WORK = ("predicates", "nodes", "candidates")
_COSTS = ("MB", "build")
WIDE = 100  # from so many columns on, a terminal has room for the work done


def table(results: Results, width: int) -> PartedTable:
    """One row a cell, under the name of its problem; the fastest of each stands out. Counts are per event."""
    headings = (*_NUMBERS, *(_WORK if width >= WIDE else ()), *_COSTS)
    numbered = (Column(heading, no_wrap=True, justify="right") for heading in headings)
    found = PartedTable(Column("", no_wrap=True), *numbered, Column("", overflow="fold"))
    for (workload, size), cells in results.problems.items():
        found.add_row(Text(f"{workload}, {short(size)}", "bold"))
        most = max((cell.measurement.events for cell in cells if cell.measurement is not None), default=0)
        for cell in cells:
            style = "green" if results.is_best(cell) else ""
            told = cell.measurement
            if told is None:
                numbers, remarks = [Text("–", "dim")] * len(headings), Text(cell.reason or "", "yellow")
            else:
                numbers = [Text(text, style) for text in _numbers(told, results.ratio(cell), width >= WIDE)]
                remarks = Text(_remarks(cell, told, most), "dim")
            found.add_row(Text(f"  {cell.matcher}", style), *numbers, remarks)
    return found


def _numbers(told: Measurement, ratio: float | None, wide: bool) -> list[str]:
    return [
        duration(told.seconds_per_event),
        "" if ratio is None else f"{figures(ratio)}×",
        figures(told.matches_per_event),
        *(
            [_work(told.predicates_evaluated), _work(told.nodes_visited), _work(told.candidates_touched)]
            if wide
            else ()
        ),
        figures(told.bytes_held / 1e6),
        duration(told.build_seconds),
    ]


def _work(count: float) -> str:
    """Work of an algorithm; what it has none of is left out."""
    return figures(count) if count else ""


def _remarks(cell: Cell, told: Measurement, most: int) -> str:
    """`most`: the events that the others saw."""
    remarks = [f"{told.algorithm} was chosen"] if told.algorithm != told.matcher else []
    if refused := cell.subscriptions - told.subscriptions:
        remarks.append(f"{refused:,} filters refused")
    if told.events < most:
        remarks.append(f"{told.events:,} of {most:,} events")
    return ", ".join(remarks)


def page_table(results: Results) -> str:
    """A row a problem and a column a matcher: time per event, and in brackets the ratio to the baseline."""
    lines = []
    for (workload, size), cells in results.problems.items():
        by_matcher = {cell.matcher: cell for cell in cells}
        texts = (_brief(results, by_matcher[name]) if name in by_matcher else "" for name in results.matchers)
        lines.append([workload, short(size), *texts])
    return markdown(["workload", "subscriptions", *results.matchers], lines, words=1) + "\n"


def _brief(results: Results, cell: Cell) -> str:
    if cell.measurement is None:
        return cell.reason or ""
    time, ratio = duration(cell.measurement.seconds_per_event), results.ratio(cell)
    told = time if ratio is None or cell.matcher == results.baseline else f"{time} ({figures(ratio)}×)"
    return f"**{told}**" if results.is_best(cell) else told


# Numbers read from options: `10k`, `1.5M`, `4G`.

_COUNTS = {"": 1, "k": 1_000, "m": 1_000_000}
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def count(text: str) -> int:
    """`10k` is 10,000 and `1.5M` is 1,500,000."""
    return _read(text, _COUNTS, "a number of subscriptions, as 500, 10k or 1M")


def memory(text: str) -> int:
    """`4G` is four times 2³⁰ bytes."""
    return _read(text, _BYTES, "an amount of memory, as 500M or 4G")


def _read(text: str, units: dict[str, int], what: str) -> int:
    given = text.strip().lower()
    letter = given[-1:] if given[-1:].isalpha() else ""
    try:
        number = float(given.removesuffix(letter)) * units[letter]
    except (ValueError, KeyError):
        number = 0.0
    if not 1 <= number < 1e15:
        raise CommandError(f"{text!r} is not {what}")
    return round(number)
