"""One filter more, and one less, in a table of 200,000 standing ones: covers found both ways, and mergers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from benchmarks.findings import Finding, Options
from tamis.lab.diagrams import DiagramRows
from tamis.lab.timing import seconds
from tamis.language import Filter, normalise, parse
from tamis.language.predicates import Literal, sort_key
from tamis.routing.merging import MergePolicy, MergingTable
from tamis.routing.standing import CoveringTable
from tamis.schema import Schema
from tamis.workloads import padres_sets
from tamis.workloads.stock_quotes import SET_A, SET_B

FULL = 200_000
REMOVED = 20_000
RIVAL = 2_000
MEAN_US = 50.0

_Named = list[tuple[str, Filter]]


def run(options: Options) -> Iterator[Finding]:
    size = options.subscriptions(FULL)
    for name, values in (("A", SET_A), ("B", SET_B)):
        workload = padres_sets(size, 1, values=values)
        filters = _filters(workload.subscriptions, workload.schema)
        table = CoveringTable(workload.schema)
        _insert(table, filters[:1])  # compiles
        table.remove(filters[0][0])
        inserting = seconds(partial(_insert, table, filters)) / size * 1e6
        roots = table.root_count
        gone = [id for id, _ in filters[: min(REMOVED, size // 2)]]
        removing = seconds(partial(_remove, table, gone)) / len(gone) * 1e6
        yield Finding(
            what="inserting one, mean of all (time of the processor)",
            workload=f"padres_sets, set {name}, {size:,} filters",
            measured=f"{inserting:.1f} µs",
            bar=f"≤ {MEAN_US:.0f} µs",
            reached=inserting <= MEAN_US,
            details={
                "removing_us": round(removing, 1),
                "roots": roots,
                "predicates": len(table.index),
                "diagrams_us": round(_rival(filters, workload.schema), 1),
            },
        )
    yield _merging(filters, workload.schema)


def _merging(filters: _Named, schema: Schema) -> Finding:
    table = MergingTable(schema, MergePolicy(every=None))
    for id, filter in filters:
        table.insert(id, filter)
    before = table.forwarded_count
    taken = seconds(table.merge)
    return Finding(
        what="merging all of it at once",
        workload=f"padres_sets, set B, {len(filters):,} filters",
        measured=f"{taken:.1f} s, {before:,} → {table.forwarded_count:,}",
        details={"mergers": len(table.mergers)},
    )


def _rival(filters: _Named, schema: Schema) -> float:
    """The mean of the last few insertions where roots are diagrams, all of which are evaluated, of a tenth as many."""
    some = filters[: max(len(filters) // 10, RIVAL)]
    table = CoveringTable(schema, DiagramRows)
    _insert(table, some[:-RIVAL] or some[:1])
    last = some[-RIVAL:] if len(some) > RIVAL else some[1:]
    return seconds(partial(_insert, table, last)) / max(1, len(last)) * 1e6


def _filters(subscriptions: pa.Table, schema: Schema) -> _Named:
    """Normal forms; conditions repeat, and each is read once."""
    known: dict[str, Literal] = {}

    def literal(text: str) -> Literal:
        if text not in known:
            ((known[text],),) = normalise(parse(text, schema), schema).conjuncts
        return known[text]

    return [
        (row["id"], Filter((tuple(sorted({literal(part) for part in row["filter"].split(" AND ")}, key=sort_key)),)))
        for row in subscriptions.to_pylist()
    ]


def _insert(table: CoveringTable, some: _Named) -> None:
    for id, filter in some:
        table.insert(id, filter)


def _remove(table: CoveringTable, ids: list[str]) -> None:
    for id in ids:
        table.remove(id)
