"""Planner of multiway joins as semijoins of two tables (Chandramouli & Yang 2008, §4): filtering neighbours and costs.

A join is decomposed by the neighbour that filters each table: the one of the cheapest group of its signature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Floats, Int64s
from tamis.joins.index.ranges import NOT_THERE, Ranges, Shape
from tamis.joins.index.tables import NO_ROW, Changes, TableRows
from tamis.joins.intake import Intake
from tamis.joins.layout import NO_COLUMN, JoinPlan, Layout
from tamis.joins.lowering import Coding, JoinGroup, lower
from tamis.joins.schemes.by_tuples import EnumSJ
from tamis.language import DEFAULT_LIMITS, Limits
from tamis.language.joins import Signature, bind_joins
from tamis.schema import Schema


def decomposed(shape: Shape, costs: Floats) -> Int64s:
    """Edge by which each table of each signature is filtered, -1 where the signature does not have the table.

    `costs[g]` is what a semijoin of group g costs. For each base table its groups are gone through from the cheapest
    on, and each signature takes the first that it has the edge of (§4). Costs add up, so no total is less (App. E).
    """
    chosen = np.full((len(shape.signatures), shape.tables), NOT_THERE, np.int64)
    for table in range(shape.tables):
        groups = [group for group in range(shape.groups) if shape.base(group) == table]
        for group in sorted(groups, key=lambda group: float(costs[group])):
            for signature, edges in enumerate(shape.signatures):
                if group // 2 in edges and chosen[signature, table] == NOT_THERE:
                    chosen[signature, table] = group // 2
    return chosen


def filtering_of(decomposition: Int64s, signature: Int64s) -> Int64s:
    """`Ranges.filtering` of subscriptions by their signatures."""
    return decomposition[signature]


def total_cost(shape: Shape, costs: Floats, filtering: Int64s) -> float:
    """Cost of all semijoins of subscriptions together."""
    total = 0.0
    for group in range(shape.groups):
        total += float(costs[group]) * int((filtering[:, shape.base(group)] == group // 2).sum())
    return total


# Cost of a semijoin by rates and numbers of joining rows alone (App. D).

_SELECTED = 1 / 3  # of uniform intervals hold a uniform value


def parametric_costs(
    shape: Shape, rates: npt.ArrayLike, joining: npt.ArrayLike, *, told: float = 1.0, exposed: float = 1.0
) -> Floats:
    """Cost of each group by rates alone: the share of the routing area that its messages reach, per change.

    `rates[t]` is the probability that a change is an insertion into table t; `joining[e, side]` how many rows of that
    side of an edge have the same join key on average. `told` and `exposed` weigh messages of a base row that came and
    of base rows that came into reach (α and β). Intervals and values are taken to be uniform.
    """
    rates, joining = np.asarray(rates, np.float64), np.asarray(joining, np.float64)
    costs = np.empty(shape.groups)
    for group in range(shape.groups):
        base, side = joining[group // 2, group % 2], group % 2
        filtering = joining[group // 2, 1 - side]
        reached = filtering / (filtering + 2)
        alone = 2 / ((filtering + 2) * (filtering + 3))
        costs[group] = _SELECTED * (
            told * rates[shape.base(group)] * reached + exposed * rates[shape.filter(group)] * base * alone
        )
    return costs


# Choice of a table's leading attribute, where descriptions speak of one only (App. C).

_PAIRS = 1 << 20


def most_selective_first(low: Floats, high: Floats, values: Floats) -> Int64s:
    """Attributes of a table in the order of selectivity, the one that fewest rows pass first.

    `low` and `high` are intervals of subscriptions, `values` a sample of rows, both by attribute. The paper leaves the
    choice open; this one makes clients drop the fewest rows.
    """
    if not len(low) or not len(values):
        return np.arange(low.shape[1])
    passing = np.zeros(low.shape[1])
    step = max(1, len(low) * len(values) // _PAIRS)
    for column in range(low.shape[1]):
        ordered = np.sort(values[:, column])
        some = slice(None, None, step)
        inside = np.searchsorted(ordered, high[some, column], side="right") - np.searchsorted(
            ordered, low[some, column]
        )
        passing[column] = np.maximum(inside, 0).mean()
    return np.argsort(passing, kind="stable")


# Cost of a semijoin by a trial on a sample (App. D).


@dataclass(frozen=True)
class Sample:
    """Sample of rows of every table by selection attribute and by edge, and those that come during the trial.

    `values[t]` and `keys[t]` are the rows of table t, keys by the edges that it has, ascending. `inserted` are the
    changes of the trial, table and row; all other rows are there before.
    """

    values: Sequence[Floats]
    keys: Sequence[Int64s]
    inserted: Sequence[tuple[int, int]]


class _Apart(EnumSJ):
    """Scheme of the trial: each semijoin by itself, told to each subscription."""

    one_to_each = False


def sampled_costs(shape: Shape, subscriptions: Ranges, sample: Sample, payload: int = 100) -> Floats:
    """Cost of each group by trial: bytes told to each of its semijoins on average, per change.

    Every group is tried with all subscriptions that have its edge, whatever they would choose. A group that nobody has
    costs nothing.
    """
    costs = np.zeros(shape.groups)
    for edge, tables in enumerate(shape.edges):
        has = np.array([edge in edges for edges in shape.signatures])
        some = subscriptions.take(has[subscriptions.signature])
        if not len(some):
            continue
        filtering = np.full_like(some.filtering, NOT_THERE)
        filtering[:, list(tables)] = edge
        scheme = _Apart(shape)
        scheme.subscribe(Ranges(some.low, some.high, filtering, some.signature))
        messages = scheme.change(_loaded(scheme, sample, tables))
        sizes = messages.sizes(shape, payload)
        for group in (2 * edge, 2 * edge + 1):
            costs[group] = sizes[messages.group == group].sum() / len(some) / max(1, len(sample.inserted))
    return costs


def _loaded(scheme: EnumSJ, sample: Sample, tables: tuple[int, int]) -> Changes:
    """Puts all rows in, and returns those that come as changes."""
    coming = {place: event for event, place in enumerate(sample.inserted)}
    rows: dict[int, tuple[int, int]] = {}
    for table in tables:
        late = np.array([(table, row) in coming for row in range(len(sample.values[table]))], np.bool_)
        scheme.state.load(table, sample.values[table][~late], sample.keys[table][~late])
        numbers = scheme.state.rows[table].put(sample.values[table][late], sample.keys[table][late])
        rows |= {
            coming[(table, int(row))]: (table, int(number))
            for row, number in zip(np.flatnonzero(late), numbers, strict=True)
        }
    ordered = [rows[event] for event in sorted(rows)]
    return Changes.of([table for table, _ in ordered], [NO_ROW] * len(ordered), [number for _, number in ordered])


# Plans out of a sample of events: which table filters which (§4), and which attributes lead (App. C).

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
    """Cheapest plan by a sample of the events, the first half of which is taken to be there.

    The cost of a semijoin is tried out on the sample with these subscriptions (`sampled`), or computed from how often
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
    """Chosen neighbours by signature; the first ones where nothing was chosen."""

    def __init__(self, filters: Mapping[Signature, Mapping[str, str]]) -> None:
        self._filters = filters

    def __call__(self, signature: Signature) -> Mapping[str, str]:
        return self._filters.get(signature) or {one: signature.neighbours(one)[0] for one in signature.tables}


def _ranges(layout: Layout, groups: Sequence[JoinGroup]) -> Ranges:
    parts = [layout.ranges(group).arrays for group in groups]
    return Ranges(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _sample(rows: Sequence[TableRows], changes: Changes) -> Sample:
    """Sample in which rows of the first half are there, and those of the second half come."""
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
