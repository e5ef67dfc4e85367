"""The columnar index beside the algorithms of the papers, and `auto` beside the best of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import tamis
from benchmarks.findings import Finding, Options
from tamis.cli.bench.problems import EVERY_WORKLOAD
from tamis.lab.comparison import Cell, Measurement, Problem, Terms, compare
from tamis.matching.matchers import AUTO
from tamis.workloads import named

COLUMNAR = "columnar"
PAPERS = tuple(name for name in tamis.MATCHERS if name not in (COLUMNAR, "naive", "scan"))
SUBSCRIPTIONS, BAR = 1_000_000, 3.0
EVERY_SIZE, AUTO_BAR = 100_000, 1.2
EVENTS = 10_000


def run(options: Options) -> Iterator[Finding]:
    yield _beside_papers(options.subscriptions(SUBSCRIPTIONS))
    size = options.subscriptions(EVERY_SIZE)
    for name in EVERY_WORKLOAD:
        yield _auto(name, size)


def _beside_papers(count: int) -> Finding:
    cells = _measured("le_subscribe", count, (COLUMNAR, *PAPERS), Terms(budget_seconds=5.0, limit_seconds=600.0))
    ours = cells[0].measurement
    best = _best(cells[1:])
    if ours is None or best is None:
        raise AssertionError(f"not measured: {_missing(cells)}")
    ratio = best.seconds_per_event / ours.seconds_per_event
    return Finding(
        what=f"columnar / the best of the papers' algorithms ({best.matcher}), events per second",
        workload=f"le_subscribe p=0.5, {count:,} subscriptions",
        measured=f"{ratio:.1f}×",
        bar=f"≥ {BAR:.0f}×",
        reached=ratio >= BAR,
        details={
            "us_per_event": round(ours.seconds_per_event * 1e6, 2),
            "best_us_per_event": round(best.seconds_per_event * 1e6, 2),
            "matches_per_event": round(ours.matches_per_event, 1),
            "not_measured": _missing(cells),
        },
    )


def _auto(name: str, count: int) -> Finding:
    cells = _measured(name, count, (AUTO, COLUMNAR, *PAPERS), Terms(budget_seconds=1.0, limit_seconds=120.0))
    ours, best = cells[0].measurement, _best(cells)
    if ours is None or best is None:
        raise AssertionError(f"not measured: {_missing(cells)}")
    ratio = ours.seconds_per_event / best.seconds_per_event
    return Finding(
        what="auto / the best matcher, time per event",
        workload=f"{name}, {count:,} subscriptions",
        measured=f"{ratio:.2f}×",
        bar=f"≤ {AUTO_BAR}×",
        reached=ratio <= AUTO_BAR,
        details={
            "us_per_event": round(ours.seconds_per_event * 1e6, 2),
            "chosen": ours.algorithm,
            "best": best.matcher,
            "not_measured": _missing(cells),
        },
    )


def _measured(name: str, count: int, matchers: Sequence[str], terms: Terms) -> list[Cell]:
    return list(compare([Problem(name, partial(named(name), count, EVENTS, 1), count)], matchers, terms))


def _best(cells: Sequence[Cell]) -> Measurement | None:
    found = [cell.measurement for cell in cells if cell.measurement is not None]
    return min(found, key=lambda told: told.seconds_per_event, default=None)


def _missing(cells: Sequence[Cell]) -> list[str]:
    return [f"{cell.matcher}: {cell.reason}" for cell in cells if cell.reason is not None]
