"""Fills the tables of docs/bench.md and draws docs/images/matchers.png, from the JSON that `tamis bench` wrote.

python docs/figures/matchers.py [folder of matchers-large.json, matchers-small.json, matchers-single.json]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tamis.cli.bench.plot import plot
from tamis.cli.bench.problems import Results
from tamis.cli.bench.tables import page_table
from tamis.lab.timing import duration, figures, markdown, short

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build/bench"
PAGE = ROOT / "docs/bench.md"
PICTURE = ROOT / "docs/images/matchers.png"


def between(page: str, name: str, text: str) -> str:
    """The page with this text between the markers of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"the page has no markers {begin} and {end}")
    return f"{before}{begin}\n{text}{end}{after}"


def small_table(batches: Results, single: Results) -> str:
    """Of each problem the columnar index and the best other matcher, in batches and one event at a time."""
    header = ["workload", "subscriptions", "columnar", "best other", "one by one: columnar", "best other"]
    lines = [
        [problem[0], short(problem[1]), *_beside(batches, problem), *_beside(single, problem)]
        for problem in batches.problems
    ]
    return markdown(header, lines, words=1) + "\n"


def _beside(results: Results, problem: tuple[str, int]) -> tuple[str, str]:
    times = {
        cell.matcher: cell.measurement.seconds_per_event
        for cell in results.problems.get(problem, [])
        if cell.measurement is not None
    }
    ours = times.pop("columnar", None)
    if ours is None or not times:
        return "", ""
    name = min(times, key=times.__getitem__)
    ratio = times[name] / ours
    text = f"{duration(times[name])} ({name}, {figures(ratio)}×)"
    return duration(ours), f"**{text}**" if ratio < 1 / 1.2 else text


def read(path: Path) -> Results:
    content = json.loads(path.read_text(encoding="utf-8"))
    return Results.from_rows(content["cells"], content["baseline"])


def machine(path: Path) -> str:
    """Where and when it was measured."""
    content = json.loads(path.read_text(encoding="utf-8"))
    about = content["machine"]
    return f"Measured on {about['processor']}, {about['cores']} cores, {content['at'][:10]}.\n\n"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    large = folder / "matchers-large.json"
    small, single = read(folder / "matchers-small.json"), read(folder / "matchers-single.json")
    found = read(large)
    page = PAGE.read_text(encoding="utf-8")
    page = between(page, "matchers table", machine(large) + page_table(found))
    page = between(page, "small table", small_table(small, single))
    PAGE.write_text(page, encoding="utf-8")
    plot(found, PICTURE)


if __name__ == "__main__":
    main()
