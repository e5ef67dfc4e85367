"""What a semijoin costs by trying it out on a sample (App. D)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tamis.joins.index.ranges import NOT_THERE, Floats, Integers, Ranges, Shape
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.schemes.enum_sj import EnumSJ


@dataclass(frozen=True)
class Sample:
    """Rows of every table by selection attribute and by edge, and which of them come during the trial.

    `values[t]` and `keys[t]` are the rows of table t, keys by the edges that it has, ascending. `inserted` are the
    changes of the trial, table and row; all other rows are there before.
    """

    values: Sequence[Floats]
    keys: Sequence[Integers]
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
