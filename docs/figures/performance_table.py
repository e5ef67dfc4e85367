"""Puts the results of `make bench` into the tables of docs/performance.md, between their two markers.

python -m docs.figures.performance_table [results folder] [page]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.__main__ import LINES

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build/bench"
PAGE = ROOT / "docs/performance.md"

BEGIN, END = "<!-- bench table: begin -->", "<!-- bench table: end -->"
HEADER = "| line | what | workload | measured | bar | | in detail | on |\n|---|---|---|---|---|---|---|---|"
ORDER = {line: place for place, line in enumerate(LINES)}
# Details that say more than the ratio does, and how to write them.
SHOWN = {
    "us_per_event": "{:,.2f} µs an event",
    "events_per_second": "{:,.0f} events/s",
    "matches_per_event": "{:,.1f} matches an event",
    "candidates_per_event": "{:,.1f} candidates an event",
    "parsing_us_per_event": "parsing {:.2f} µs an event",
    "building_s": "built in {:.1f} s",
    "bytes_a_subscription": "{:.0f} bytes a subscription with its id",
    "peak_gb": "at most {:.1f} GB so far",
    "adding_ms": "one added in {:.2f} ms",
    "call_ms": "the call {:.3f} ms",
    "worst_call_ms": "worst {:.1f} ms",
    "saving_s": "saving {:.2f} s",
    "opening_s": "opening {:.3f} s",
    "join_events_per_second": "the join {:,.0f} events/s",
    "batches": "{} micro-batches",
    "evaluations_an_event": "{:,.0f} evaluations an event",
    "first_event_after_ms": "the next event {:.1f} ms longer",
    "in_process_events_per_second": "in process {:,.0f} events/s",
    "fixed_s": "fixed {:.2f} s",
    "look_us": "look {:.2f} µs",
    "write_us": "write {:.2f} µs",
    "gather_us": "gather {:.2f} µs",
    "measured_s": "{:.1f} s",
    "foretold_s": "foretold {:.1f} s",
    "times_one_worker": "{:.2f} times as fast as one worker",
}


class Row(NamedTuple):
    """A finding as it stands on the page."""

    line: str
    what: str
    workload: str
    measured: str
    bar: str
    mark: str
    details: str
    on: str

    @property
    def is_ratio(self) -> bool:
        return "×" in self.measured


def rows_of(line: dict[str, Any]) -> list[Row]:
    """The findings of a line; says where it was run smaller than it should be."""
    rows = []
    for finding in line["findings"]:
        mark = {True: "reached", False: "missed", None: ""}[finding["reached"]]
        if line["scale"] != 1:
            mark = f"at scale {line['scale']:g}"
        rows.append(
            Row(
                line["line"], finding["what"], finding["workload"], finding["measured"], finding["bar"], mark,
                _details(finding), line["at"][:10],
            )
        )  # fmt: skip
    return rows


def _details(finding: dict[str, Any]) -> str:
    details = dict(finding["details"])
    if "µs" in finding["measured"]:
        details.pop("us_per_event", None)  # it is what was measured
    return ", ".join(form.format(details[key]) for key, form in SHOWN.items() if key in details)


def standing(text: str) -> list[Row]:
    """The rows of tables that are on the page already."""
    cells = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ") and "---" not in line)
    rows = [Row(*(cell.strip() for cell in row)) for row in cells]
    return [row for row in rows if row.line != "line"]


def tables(rows: Iterable[Row]) -> str:
    """Markdown: ratios first, then all else, by line in the order in which lines run."""
    ordered = sorted(rows, key=lambda row: ORDER.get(row.line, len(ORDER)))
    parts = []
    for title, chosen in (
        ("Ratios", [row for row in ordered if row.is_ratio]),
        ("Times, sizes and counts", [row for row in ordered if not row.is_ratio]),
    ):
        if chosen:
            parts.append("\n".join([f"### {title}", "", HEADER, *(f"| {' | '.join(row)} |" for row in chosen)]))
    return "\n\n".join(parts)


def filled(page: str, lines: list[dict[str, Any]]) -> str:
    """The page with new rows for these lines between its markers; those of other lines stay."""
    before, begin, rest = page.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"the page has no markers {BEGIN} and {END}")
    run = {line["line"] for line in lines}
    rows = [row for row in standing(old) if row.line not in run] + [row for line in lines for row in rows_of(line)]
    return f"{before}{BEGIN}\n{tables(rows)}\n{END}{after}"


def read(folder: Path) -> list[dict[str, Any]]:
    """The results in a folder, a file a line."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def main() -> None:
    given = [Path(argument) for argument in sys.argv[1:3]]
    results, page = (given + [RESULTS, PAGE][len(given) :])[:2]
    lines = read(results)
    if not lines:
        raise SystemExit(f"there are no results in {results}; run make bench first")
    page.write_text(filled(page.read_text(encoding="utf-8"), lines), encoding="utf-8")


if __name__ == "__main__":
    main()
