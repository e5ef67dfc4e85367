"""Decomposition of a join: the neighbour that filters each table, by the cheapest group of its signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, Int64s
from tamis.joins.index.ranges import NOT_THERE, Ranges, Shape
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.schemes.enum_sj import EnumSJ


def decomposed(shape: Shape, costs: Floats) -> Int64s:
    """For every signature and table the edge by which the table is filtered, -1 where the signature has it not.

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


# What a semijoin costs by rates and numbers of joining rows alone (App. D).

_SELECTED = 1 / 3  # of uniform intervals hold a uniform value


def parametric_costs(
    shape: Shape, rates: npt.ArrayLike, joining: npt.ArrayLike, *, told: float = 1.0, exposed: float = 1.0
) -> Floats:
    """A cost a group: the share of the routing area that its messages reach, a change.

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


# Which of a table's selection attributes leads, where descriptions speak of one only (App. C).

_PAIRS = 1 << 20


def most_selective_first(low: Floats, high: Floats, values: Floats) -> Int64s:
    """The attributes of a table, the one that fewest rows pass first.

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


# What a semijoin costs by trying it out on a sample (App. D).


@dataclass(frozen=True)
class Sample:
    """Rows of every table by selection attribute and by edge, and which of them come during the trial.

    `values[t]` and `keys[t]` are the rows of table t, keys by the edges that it has, ascending. `inserted` are the
    changes of the trial, table and row; all other rows are there before.
    """

    values: Sequence[Floats]
    keys: Sequence[Int64s]
    inserted: Sequence[tuple[int, int]]


class _Apart(EnumSJ):
    """Told to each, each semijoin by itself."""

    one_to_each = False


def sampled_costs(shape: Shape, subscriptions: Ranges, sample: Sample, payload: int = 100) -> Floats:
    """A cost a group: bytes told to each of its semijoins on average, for a change.

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
    """Puts all rows in, and gives those that come as changes."""
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
