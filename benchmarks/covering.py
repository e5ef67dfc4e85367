"""Covers among many filters: by an index of their corners, beside a compiled comparison of all pairs."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import tamis
from benchmarks.findings import Finding, Options
from tamis.analysis.subscription_set import one_level
from tamis.lab.timing import best_of
from tamis.matching.columnar.level import ColumnarLevel
from tamis.routing.covering.facts.facts import Facts, facts_of
from tamis.routing.covering.search.covers import Covers, find_covers
from tamis.routing.covering.search.ground import Classes, classes_of
from tamis.routing.covering.search.kernels import covered_by_any
from tamis.schema import Schema
from tamis.workloads import Workload, named

# Workload, what it is called with, filters, and the share of them that PADRES' authors report as covered.
LINES: tuple[tuple[str, dict[str, int], int, str], ...] = (
    ("padres_sets", {"values": 33}, 200_000, "75 ± 3%"),
    ("padres_sets", {"values": 83}, 200_000, "45 ± 5%"),
    ("le_subscribe", {}, 100_000, ""),
    ("le_subscribe", {}, 1_000_000, ""),
    ("gryphon", {}, 100_000, ""),
    ("gryphon", {}, 1_000_000, ""),
    ("w2", {}, 100_000, ""),
    ("w2", {}, 1_000_000, ""),
    ("w4", {}, 100_000, ""),
    ("auctions", {}, 100_000, ""),
)
SCANNED = 20_000


def run(options: Options) -> Iterator[Finding]:
    for name, arguments, size, bar in LINES:
        count = options.subscriptions(size)
        workload = named(name)(count, 1, **arguments)
        level = one_level([tamis.compile(workload.subscriptions, workload.schema)])
        prepared, found, times = _searched(level, workload.schema)
        gone = 1 - int((found.cover < 0).sum()) / count
        told = ", ".join(f"{key}={value}" for key, value in arguments.items())
        yield Finding(
            what="filters covered or duplicate, and the time to find them",
            workload=f"{name}{' ' + told if told else ''}, {count:,} filters",
            measured=f"{gone:.1%}, {sum(times):.2f} s",
            bar=bar,
            reached=_within(gone, bar),
            details={
                "facts_s": round(times[0], 3),
                "search_s": round(times[1], 3),
                "left": int((found.cover < 0).sum()),
                "classes": len(prepared[1]),
                "candidates": found.candidates,
                "undecided": int(found.undecided.sum()),
            },
        )
    yield _beside_a_scan(options)


def _searched(level: ColumnarLevel, schema: Schema) -> tuple[tuple[Facts, Classes], Covers, tuple[float, float]]:
    """What the search found, and its processor time: to put filters into one form, and to look them up."""
    best = (float("inf"), float("inf"))
    for _ in range(3):  # the first compiles
        start = time.process_time()
        facts, distinct = facts_of(level.conjuncts, level.encoder, schema)
        classes = classes_of(level.conjuncts, distinct, facts, len(level.names))
        middle = time.process_time()
        found = find_covers(facts, classes, schema)
        best = min(best, (middle - start, time.process_time() - middle), key=sum)
    return (facts, classes), found, best


def _within(share: float, bar: str) -> bool | None:
    if not bar:
        return None
    middle, _, wide = bar.removesuffix("%").partition(" ± ")
    return abs(100 * share - float(middle)) <= float(wide)


def _beside_a_scan(options: Options) -> Finding:
    workload: Workload = named("w2")(options.subscriptions(SCANNED), 1)
    level = one_level([tamis.compile(workload.subscriptions, workload.schema)])
    facts, distinct = facts_of(level.conjuncts, level.encoder, workload.schema)
    classes = classes_of(level.conjuncts, distinct, facts, len(level.names))
    parts = ((classes.offsets, classes.members), facts.flat, facts.sets, facts.patterns, facts.others)
    covered = np.zeros(len(classes), np.bool_)
    ours, theirs = best_of(
        1, lambda: find_covers(facts, classes, workload.schema), lambda: covered_by_any(*parts, covered)
    )
    return Finding(
        what="search / comparing all pairs",
        workload=f"w2, {len(classes):,} filters, none of which covers another",
        measured=f"{theirs / ours:,.0f}×",
        bar="≥ 10×",
        reached=theirs / ours >= 10,
        details={"search_s": round(ours, 3), "pairs_s": round(theirs, 3)},
    )
