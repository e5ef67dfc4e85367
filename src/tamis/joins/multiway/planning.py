"""Plans out of a sample of events: which table filters which (§4), and which attributes lead (App. C)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from tamis.arrays import Floats
from tamis.joins.coding import Coding, JoinGroup
from tamis.joins.index.ranges import Ranges
from tamis.joins.index.tables import NO_ROW, Changes, TableRows
from tamis.joins.intake import Intake
from tamis.joins.layout import NO_COLUMN, Layout
from tamis.joins.lowering import lower
from tamis.joins.multiway.decomposition import Sample, decomposed, most_selective_first, parametric_costs, sampled_costs
from tamis.joins.plan import JoinPlan
from tamis.language import DEFAULT_LIMITS, Limits
from tamis.language.joins import Signature, bind_joins
from tamis.schema import Schema

Costs = Literal["sampled", "parametric"]


def planned(
    schema: Schema,
    subscriptions: Mapping[str, str],
    events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch,
    costs: Costs = "sampled",
    *,
    every_attribute: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> JoinPlan:
    """The plan that costs least by a sample of the events, the first half of which is taken to be there.

    What a semijoin costs is tried out on the sample with these subscriptions (`sampled`), or worked out from how often
    tables change and how many rows have a join key in common (`parametric`). Events that their table cannot take, and
    texts that are no joins, are passed over. Joins of a form that is not among the subscriptions get first neighbours.
    """
    coding = Coding(schema)
    bound = bind_joins(list(subscriptions.values()), schema, limits)
    groups = lower(pa.array(list(subscriptions), pa.string()), bound, schema, coding).groups
    layout = Layout(schema, groups)
    rows = tuple(TableRows(layout.shape, table) for table in range(layout.shape.tables))
    changes = Intake(schema, coding).take(schema.check(schema.to_arrow(events)).valid, layout, rows).changes
    ranges = _ranges(layout, groups)
    if costs == "sampled":
        found = sampled_costs(layout.shape, ranges, _sample(rows, changes))
    else:
        found = _parametric(layout, rows, changes)
    chosen = decomposed(layout.shape, found)
    edges = list(layout.edges)
    filters: dict[Signature, dict[str, str]] = {}
    for signature, number in layout.signatures.items():
        filters[signature] = {}
        for table in signature.tables:
            edge = edges[chosen[number, layout.numbers[table]]]
            filters[signature][table] = edge.right if edge.left == table else edge.left
    return JoinPlan(_Chosen(filters), _leading(layout, ranges, rows, changes), every_attribute)


class _Chosen:
    """Neighbours by signature; the first ones where nothing was chosen."""

    def __init__(self, filters: Mapping[Signature, Mapping[str, str]]) -> None:
        self._filters = filters

    def __call__(self, signature: Signature) -> Mapping[str, str]:
        return self._filters.get(signature) or {one: signature.neighbours(one)[0] for one in signature.tables}


def _ranges(layout: Layout, groups: Sequence[JoinGroup]) -> Ranges:
    parts = [layout.ranges(group).arrays for group in groups]
    return Ranges(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _sample(rows: Sequence[TableRows], changes: Changes) -> Sample:
    """Rows that came in the first half are there; those of the second half come."""
    values, keys, inserted = [], [], []
    came = changes.new != NO_ROW
    for table, own in enumerate(rows):
        numbers = changes.new[came & (changes.table == table)]
        values.append(own.values[numbers])
        columns = [own.keys[edge][numbers] for edge in own.edges]
        keys.append(np.column_stack(columns) if columns else np.empty((len(numbers), 0), np.int64))
    seen: Counter[int] = Counter()
    order = changes.table[came].tolist()
    for place, table in enumerate(order):
        if place >= len(order) // 2:
            inserted.append((table, seen[table]))
        seen[table] += 1
    return Sample(values, keys, inserted)


def _parametric(layout: Layout, rows: Sequence[TableRows], changes: Changes) -> Floats:
    came = changes.new != NO_ROW
    counts = np.bincount(changes.table[came], minlength=layout.shape.tables)
    joining = np.zeros((len(layout.shape.edges), 2))
    for edge, tables in enumerate(layout.shape.edges):
        for side, table in enumerate(tables):
            keys = rows[table].keys[edge][changes.new[came & (changes.table == table)]]
            joining[edge, side] = len(keys) / max(1, len(np.unique(keys)))
    return parametric_costs(layout.shape, counts / max(1, counts.sum()), joining)


def _leading(layout: Layout, ranges: Ranges, rows: Sequence[TableRows], changes: Changes) -> dict[str, tuple[str, ...]]:
    leading = {}
    for name, number in layout.numbers.items():
        if layout.columns[name] == (NO_COLUMN,):
            continue
        columns = slice(*layout.shape.first_column[number : number + 2].tolist())
        own = ranges.filtering[:, number] >= 0
        numbers = changes.new[(changes.new != NO_ROW) & (changes.table == number)]
        order = most_selective_first(ranges.low[own, columns], ranges.high[own, columns], rows[number].values[numbers])
        leading[name] = tuple(layout.columns[name][place] for place in order.tolist())
    return leading
