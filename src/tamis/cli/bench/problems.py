"""Benchmark problems by the options (matchers, named workloads, quotes, files), and their measured results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from tamis.cli.base.options import CommandError
from tamis.cli.bench import numbers
from tamis.cli.work.events import EventFiles
from tamis.cli.work.indexes import is_index, schema_for
from tamis.cli.work.subscriptions import read_subscriptions
from tamis.lab.comparison import Cell, Measurement, Problem
from tamis.matching.matchers import AUTO, MATCHERS
from tamis.workloads import Workload, named, stock_quotes
from tamis.workloads.naming import parameters, with_parameters

ALL = "all"
# Default matchers: all but the oracle. Python that walks a tree for every pair is measured only on request.
DEFAULT_MATCHERS = tuple(name for name in MATCHERS if name != "naive")
# Workloads of `all`: P2's, P1's, and those that pull an index in different directions.
EVERY_WORKLOAD = (
    "le_subscribe",
    "le_subscribe(p=1)",
    "gryphon",
    "gryphon_hard",
    "selective",
    "selective_hot",
    "many_attributes",
    "ranges",
    "thresholds",
    "selective_thresholds",
    "hot_value",
    "few_values",
    "auctions",
)
_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")


def matchers_named(text: str | None) -> list[str]:
    """Comma-separated matchers, or `all`."""
    if text is None:
        return list(DEFAULT_MATCHERS)
    names = list(MATCHERS) if text.strip() == ALL else list(dict.fromkeys(_listed([text])))
    for name in names:
        if name not in (*MATCHERS, AUTO):
            raise CommandError(f"there is no matcher {name!r}; there are {', '.join((*MATCHERS, AUTO))}, and {ALL}")
    if not names:
        raise CommandError(f"--matchers names none; there are {', '.join((*MATCHERS, AUTO))}, and {ALL}")
    return names


def named_problems(
    workloads: Sequence[str], sizes: str, settings: Sequence[str], events: int, seed: int
) -> list[Problem]:
    """Every workload in every size; a setting applies to the workloads that have such a parameter."""
    texts = [name for text in _listed(workloads) for name in (EVERY_WORKLOAD if text == ALL else (text,))]
    given = dict(_setting(text) for text in settings)
    known = {text: parameters(text) for text in texts}
    for key in given:
        if not any(key in own for own in known.values()):
            raise CommandError(f"--set {key}: none of the workloads has such a parameter")
    names = [with_parameters(text, {k: v for k, v in given.items() if k in known[text]}) for text in texts]
    counts = [numbers.count(size) for size in _listed([sizes])]
    return [
        Problem(name, partial(named(name), count, events, seed), count)
        for name in dict.fromkeys(names)
        for count in sorted(set(counts))
    ]


def quotes_problem(folder: Path) -> Problem:
    """All quotes of a folder: every matcher must find the counts that come with them."""
    if not folder.is_dir():
        raise FileNotFoundError(2, "", str(folder))
    return Problem("stock_quotes", partial(stock_quotes, folder))


def files_problem(subscriptions: Path, events: Sequence[Path], schema: Path | None, count: int) -> Problem:
    """Subscriptions and first events of the user's files, read as `tamis match` reads them."""
    if is_index(subscriptions):
        raise CommandError(f"{subscriptions}: compiled for one matcher already; give the file it was compiled from")
    files = EventFiles(events)
    found = schema_for(schema, subscriptions, files)
    if found is None:
        raise CommandError("there is no schema: give one with --schema")
    table = read_subscriptions(subscriptions).table
    workload = Workload(subscriptions.name, found, table, files.sample(found, count))
    return Problem(subscriptions.name, lambda: workload, len(table))


def _listed(texts: Iterable[str]) -> list[str]:
    return [part.strip() for text in texts for part in _OUTSIDE_PARENTHESES.split(text) if part.strip()]


def _setting(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not (key.strip() and sign and value.strip()):
        raise CommandError(f"--set {text}: expected a parameter and its value, as in p=0.8")
    return key.strip(), value.strip()


# Measured results by problem, and their ratios.


@dataclass(frozen=True)
class Results:
    """Measured cells in order; ratios are to the `baseline`'s time on the same problem."""

    cells: Sequence[Cell]
    baseline: str

    @cached_property
    def problems(self) -> dict[tuple[str, int], list[Cell]]:
        """Cells by workload and number of subscriptions."""
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
        """Time of a cell, divided by the baseline's; None where one of them was not measured."""
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
