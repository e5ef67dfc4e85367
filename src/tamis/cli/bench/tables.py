"""Tables of benchmark results: all numbers for the terminal, time and ratio for a page."""

from __future__ import annotations

from rich.table import Column
from rich.text import Text

from tamis.cli.base.terminal import PartedTable
from tamis.cli.bench.problems import Results
from tamis.lab.comparison import Cell, Measurement
from tamis.lab.timing import duration, figures, markdown, short

_NUMBERS = ("time/event", "ratio", "matches")
_WORK = ("predicates", "nodes", "candidates")
_COSTS = ("MB", "build")
WIDE = 100  # from so many columns on, a terminal has room for the work done


def table(results: Results, width: int) -> PartedTable:
    """Row per cell, under the name of its problem; the fastest of each stands out. Counts are per event."""
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
    """Counters of work per event; those that an algorithm does not have are left out."""
    return figures(count) if count else ""


def _remarks(cell: Cell, told: Measurement, most: int) -> str:
    """Remarks on a cell. `most`: the events that the others saw."""
    remarks = [f"{told.algorithm} was chosen"] if told.algorithm != told.matcher else []
    if refused := cell.subscriptions - told.subscriptions:
        remarks.append(f"{refused:,} filters refused")
    if told.events < most:
        remarks.append(f"{told.events:,} of {most:,} events")
    return ", ".join(remarks)


def page_table(results: Results) -> str:
    """Row per problem and column per matcher: time per event, and in brackets the ratio to the baseline."""
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
