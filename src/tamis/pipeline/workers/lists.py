"""Matches as Arrow lists, one list an event: what goes back to the JVM. Flat arrays throughout, no object a match.

What variables are bound to stands in a list beside the ids.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.errors import EventError
from tamis.matching.base.matches import Matches
from tamis.operators.values import json_bindings
from tamis.schema import Schema

Form = Literal["map", "json"]
"""A map from names to values as texts, which Spark casts; or a JSON object, which keeps what is a number."""

_TYPES: dict[Form, pa.DataType] = {"map": pa.map_(pa.string(), pa.string()), "json": pa.string()}


def id_lists(matches: Matches) -> pa.ListArray:
    """The ids each event matched."""
    return listed_by(matches.offsets, matches.ids(matches.numbers).cast(pa.string()))


def number_lists(matches: Matches, first: int) -> pa.ListArray:
    """The numbers each event matched, counted from `first`."""
    return listed_by(matches.offsets, pa.array((matches.numbers + first).astype(np.int32, copy=False)))


def joined(parts: Sequence[pa.ListArray]) -> pa.ListArray:
    """Row by row the lists of all parts one after the other."""
    if len(parts) == 1:
        return parts[0]
    counts = [np.diff(_offsets(part)) for part in parts]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.sum(counts, axis=0))])
    places, filled = [], offsets[:-1].copy()
    for count in counts:
        starts = filled - (np.cumsum(count) - count)
        places.append(np.repeat(starts, count) + np.arange(int(count.sum())))
        filled += count
    order = np.empty(int(offsets[-1]), np.int64)
    order[np.concatenate(places)] = np.arange(len(order))
    return listed_by(offsets, pa.concat_arrays([part.flatten() for part in parts]).take(pa.array(order)))


def spread(lists: pa.ListArray, rows: Int64s, count: int) -> pa.ListArray:
    """The lists put into `count` rows: list i into row `rows[i]` (ascending), empty lists into the others."""
    counts = np.zeros(count, np.int64)
    counts[rows] = np.diff(_offsets(lists))
    return listed_by(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), lists.flatten())


def lengths(lists: pa.ListArray) -> Int64s:
    """Length of each list."""
    return np.diff(_offsets(lists))


def listed_by(offsets: Int64s, values: pa.Array) -> pa.ListArray:
    """List i is `values[offsets[i]:offsets[i + 1]]`."""
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def _offsets(lists: pa.ListArray) -> Int64s:
    return lists.offsets.to_numpy().astype(np.int64)


def binding_lists(matches: Matches, form: Form) -> pa.ListArray:
    """For each match what its variables are bound to; null where the filter has none."""
    bound = matches.bindings()
    places = np.full(len(matches), -1, np.int64)
    if bound:
        events = np.array([one.event for one in bound], np.int64)
        concerned = np.zeros(matches.events, np.bool_)
        concerned[events] = True
        rows = np.repeat(np.arange(matches.events), matches.counts)
        candidates = np.flatnonzero(concerned[rows])
        named = pa.array([one.subscription for one in bound], pa.string())
        ids = matches.ids(matches.numbers[candidates]).cast(pa.string())
        codes = np.asarray(pa.concat_arrays([ids, named]).dictionary_encode().indices, np.int64)
        width = int(codes.max()) + 1
        pairs = rows[candidates] * width + codes[: len(ids)]  # an event and a subscription: no pair comes twice
        order = np.argsort(pairs)
        found = order[np.searchsorted(pairs[order], events * width + codes[len(ids) :])]
        places[candidates[found]] = np.arange(len(bound))
    values = pa.array([_written(one.variables, form) for one in bound], _TYPES[form])
    return listed_by(matches.offsets, values.take(pa.array(places, mask=places < 0)))


def _written(variables: Any, form: Form) -> Any:
    if form == "json":
        return json.dumps(json_bindings(variables))
    return [(name, _text(value)) for name, value in variables.items()]


def _text(value: object) -> str:
    """As Spark reads it again."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else str(value)


# For looking back: history may hold values that are in no domain, and one of them must not spoil the rest.


def legible(schema: Schema, events: pa.RecordBatch) -> tuple[pa.RecordBatch, npt.NDArray[np.int64]]:
    """The events whose values are all in their domains, in canonical form, and their rows. R1–R3 are not checked."""
    try:
        batch = schema.to_arrow(events)
        if not _has_nan(batch):
            return batch, np.arange(events.num_rows)
    except EventError:
        pass
    violations = schema.check(events, ignore_unknown=True).violations
    wrong = violations.filter(pc.is_in(violations["rule"], value_set=pa.array(["domain", "form"])))
    rows = np.setdiff1d(np.arange(events.num_rows), np.asarray(wrong["event"]))
    return schema.to_arrow(events.take(pa.array(rows))), rows


def _has_nan(batch: pa.RecordBatch) -> bool:
    for column in batch.columns:
        values = column.flatten() if pa.types.is_list(column.type) else column
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            return True
    return False
