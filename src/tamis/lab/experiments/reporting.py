"""Runs the experiments on Spark and writes docs/reproduction.md: claim, command, curve and verdict of each figure."""

from __future__ import annotations

import gc
import re
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tamis.errors import TamisError
from tamis.lab.experiments.p0 import P0
from tamis.lab.experiments.p1 import P1
from tamis.lab.experiments.p2 import P2
from tamis.lab.experiments.p3 import P3
from tamis.lab.experiments.p4 import P4
from tamis.lab.experiments.point_store import AT, MACHINE, POINT, TOOK, PointStore
from tamis.lab.measuring import Figure, Outcome, Paper, Point, Rows, Verdict, save
from tamis.lab.timing import markdown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PAGE = "reproduction.md"
PICTURES = "figures"

_HEAD = """\
# Reproduction

What the papers report, run anew. Each figure is a grid of points that `tamis experiments run` spreads over Spark's
workers; `tamis experiments report` makes this page, and the pictures in it, of what they found. Counts are the same on
every machine. Times are the processor's, the best of up to ten rounds (a slow algorithm gets fewer, down to one), on
the machine named below each picture, which may have had other work: what is held against a paper's times is their
order and their ratios. A claim is *reproduced* if every check under it holds, *partly* if some do, *not* if none; a
line without an answer is there to be read, and counts for nothing. Where a check needs a number that the paper does not
give, it is ours, and stands beside it.
"""
_SECTION = re.compile(r"<!-- (\S+) v(\d+): (\w+) -->\n(.*?)\n<!-- end of \1 -->", re.DOTALL)
_WORDS = {Outcome.REPRODUCED: "reproduced", Outcome.PARTLY: "partly reproduced", Outcome.NOT: "not reproduced"}


@dataclass(frozen=True)
class Section:
    """Section of one figure in the page. `text` is the content between its marks."""

    figure: str
    version: int
    outcome: Outcome
    text: str

    def __str__(self) -> str:
        mark = f"<!-- {self.figure} v{self.version}: {self.outcome.name.lower()} -->"
        return f"{mark}\n{self.text}\n<!-- end of {self.figure} -->"


def sections(page: str) -> dict[str, Section]:
    """Sections of a page, by figure."""
    return {
        name: Section(name, int(version), Outcome[outcome.upper()], text)
        for name, version, outcome, text in _SECTION.findall(page)
    }


def report(papers: Sequence[Paper], results: PointStore, docs: Path, scale: float = 1.0) -> tuple[list[str], list[str]]:
    """Writes the page and pictures of all figures whose points are complete; returns their names, and the others'.

    The others keep the section that the page has of them.
    """
    page = docs / PAGE
    known = sections(page.read_text(encoding="utf-8")) if page.exists() else {}
    written, left = [], []
    for figure in (figure for paper in papers for figure in paper.figures):
        points = figure.grid(scale)
        if results.missing(figure, points):
            left.append(figure.name)
            continue
        rows = results.rows(figure, points)
        save(figure, rows, [docs / PICTURES / f"{figure.name}{suffix}" for suffix in (".svg", ".png")])
        known[figure.name] = section(figure, rows, scale)
        written.append(figure.name)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(page_of(papers, known), encoding="utf-8")
    return written, left


def page_of(papers: Sequence[Paper], known: Mapping[str, Section]) -> str:
    parts = [_HEAD, _summary(papers, known)]
    for paper in papers:
        parts.append(f"## {paper.name.upper()}: {paper.title}\n")
        parts += [f"{known[figure.name]}\n" for figure in paper.figures if figure.name in known]
    return "\n".join(parts)


def section(figure: Figure, rows: Rows, scale: float = 1.0) -> Section:
    verdict, table = figure.verdict(rows), figure.table(rows)
    picture = f"{PICTURES}/{figure.name}"
    parts = [
        f"### {figure.name}: {figure.title}",
        _filled(f"**Claim.** {figure.claim}"),
        _filled(f"**Sizes.** {figure.sizes}{'' if scale == 1 else f' *Here: at scale {scale:g}.*'}"),
        f"**Command.** `{figure.command}{'' if scale == 1 else f' --scale {scale:g}'}`",
        f"![{figure.title}]({picture}.svg)",
        f"{_made(rows)} The same [as PNG]({picture}.png).",
        markdown(table.header, table.lines),
        _filled(f"**Verdict: {_WORDS[verdict.outcome]}.** {verdict.why}"),
        markdown(["what", "paper", "ours", "holds"], checked(verdict)),
    ]
    return Section(figure.name, figure.version, verdict.outcome, "\n\n".join(parts))


def checked(verdict: Verdict) -> list[list[str]]:
    marks = {True: "yes", False: "no", None: ""}
    return [[check.what, check.paper, check.ours, marks[check.holds]] for check in verdict.checks]


def _summary(papers: Sequence[Paper], known: Mapping[str, Section]) -> str:
    lines = []
    for figure in (figure for paper in papers for figure in paper.figures):
        there = known.get(figure.name)
        lines.append([figure.name, figure.title, "not run yet" if there is None else _WORDS[there.outcome]])
    return markdown(["figure", "what", "verdict"], lines) + "\n"


def _filled(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _made(rows: Rows) -> str:
    """Place, time and duration of the measurement."""
    days = sorted({row[AT][:10] for row in rows})
    machines = " and ".join(sorted({row[MACHINE] for row in rows}))
    took = sum({row[POINT]: row[TOOK] for row in rows}.values())
    worded = f"{took / 60:.0f} minutes" if took >= 120 else f"{took:.0f} seconds"
    return f"Measured on {machines}; {days[0] if len(days) == 1 else f'{days[0]} to {days[-1]}'}; {worded} in all."


# Catalogue of papers and figures, by name.

PAPERS: Sequence[Paper] = (P0, P1, P2, P3, P4)
FIGURES: dict[str, Figure] = {figure.name: figure for paper in PAPERS for figure in paper.figures}


def chosen(names: Sequence[str]) -> list[Figure]:
    """Figures of these names, `p2/figure-9`, or of these papers, `p2`; all of them if none is named."""
    found: dict[str, Figure] = {}
    for name in names or [paper.name for paper in PAPERS]:
        some = {key: figure for key, figure in FIGURES.items() if name in (key, key.partition("/")[0])}
        if not some:
            papers = ", ".join(paper.name for paper in PAPERS)
            raise TamisError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}, and the papers {papers}")
        found |= some
    return list(found.values())


# Running: the points of a figure, spread over Spark's workers.

_POLL = 0.25  # seconds
_GROUP = "tamis experiments"


class Failure(NamedTuple):
    """Point that could not be measured, and the reason."""

    point: Point
    why: str


def run_missing(
    session: SparkSession,
    figure: Figure,
    points: Sequence[Point],
    results: PointStore,
    told: Callable[[int], None] = lambda done: None,
) -> list[Failure]:
    """Measures missing points: a task a point, or one task for all of them where they must run alone.

    Workers write what they have finished into the results' folder, which all of them must see; so whatever ends a run
    before its time, the next one goes on from there. A point that fails does not stop the others. `told` hears now and
    then how many are done.
    """
    missing = results.missing(figure, points)
    if not missing:
        return []
    context = session.sparkContext
    work = partial(_measured, figure, str(results.root.absolute()))

    def collected() -> list[Failure]:
        context.setJobGroup(_GROUP, figure.name, interruptOnCancel=True)
        return context.parallelize(missing, 1 if figure.alone else len(missing)).mapPartitions(work).collect()

    with ThreadPoolExecutor(1) as background:
        job = background.submit(collected)
        try:
            while not wait([job], timeout=_POLL).done:
                told(len(points) - len(results.missing(figure, points)))
        except BaseException:
            context.cancelJobGroup(_GROUP)  # or the background would be waited for
            raise
        told(len(points) - len(results.missing(figure, points)))
        return job.result()


def _measured(figure: Figure, root: str, points: Iterable[Point]) -> Iterator[Failure]:
    """Measures points one after the other in a worker, and saves each."""
    results = PointStore(Path(root))
    for point in points:
        begun = time.perf_counter()
        try:
            rows = figure.run(point)
            results.write(figure, point, rows, time.perf_counter() - begun)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on, and whoever asked is told
            yield Failure(dict(point), f"{type(error).__name__}: {error}")
        rows = []
        gc.collect()  # the next one may need the memory
