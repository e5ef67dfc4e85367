"""Puts the results of `make bench` into the table of docs/performance.md, between its two markers.

python docs/figures/performance_table.py [results folder] [page]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build/bench"
PAGE = ROOT / "docs/performance.md"

BEGIN, END = "<!-- bench table: begin -->", "<!-- bench table: end -->"
# In the order in which `make bench` runs them; a line it has and this list has not comes last.
LINES = (
    "match-p2",
    "matchers",
    "exploration",
    "growth",
    "compile",
    "change",
    "covering",
    "spark-overhead",
    "spark-operators",
    "spark-join",
    "spark-scaling",
    "streaming-latency",
    "json-lines",
    "schedules",
    "joins",
    "service-throughput",
    "service-latency",
    "service-kills",
)
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
}


def table(lines: list[dict[str, Any]]) -> str:
    """Markdown, one row a finding; says where a line was run smaller than it should be."""
    rows = ["| line | what | workload | measured | bar | | in detail |", "|---|---|---|---|---|---|---|"]
    for line in lines:
        for finding in line["findings"]:
            mark = {True: "reached", False: "missed", None: ""}[finding["reached"]]
            if line["scale"] != 1:
                mark = f"at scale {line['scale']:g}"
            cells = (line["line"], finding["what"], finding["workload"], finding["measured"], finding["bar"], mark)
            rows.append(f"| {' | '.join(cells)} | {_details(finding)} |")
    return "\n".join(rows)


def _details(finding: dict[str, Any]) -> str:
    details = dict(finding["details"])
    if "µs" in finding["measured"]:
        details.pop("us_per_event", None)  # it is what was measured
    return ", ".join(form.format(details[key]) for key, form in SHOWN.items() if key in details)


def note(lines: list[dict[str, Any]]) -> str:
    """Where and when the lines were run, and with which of them to be careful."""
    machines = sorted({f"{line['machine']['processor']}, {line['machine']['cores']} cores" for line in lines})
    first, last = min(line["at"][:10] for line in lines), max(line["at"][:10] for line in lines)
    told = f"Measured on {' and '.join(machines)}; {first if first == last else f'{first} to {last}'}."
    if any(line["scale"] != 1 for line in lines):
        told += " A row *at scale s* was run with that share of the subscriptions, and its bar does not count."
    return told


def in_order(folder: Path) -> list[dict[str, Any]]:
    """The results in a folder, in the order of LINES."""
    lines = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return sorted(lines, key=lambda line: LINES.index(line["line"]) if line["line"] in LINES else len(LINES))


def filled(page: str, lines: list[dict[str, Any]]) -> str:
    """The page with a new table between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"the page has no markers {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{note(lines)}\n\n{table(lines)}\n{END}{after}"


def main() -> None:
    given = [Path(argument) for argument in sys.argv[1:3]]
    results, page = (given + [RESULTS, PAGE][len(given) :])[:2]
    lines = in_order(results)
    if not lines:
        raise SystemExit(f"there are no results in {results}; run make bench first")
    page.write_text(filled(page.read_text(encoding="utf-8"), lines), encoding="utf-8")


if __name__ == "__main__":
    main()
