"""Events of any form as one canonical batch: what the matchers take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tamis.errors import EventError, Violation
from tamis.schema.alignment import align, batch_of, from_readings, one_batch, patch
from tamis.schema.attributes import EVENT_TYPE
from tamis.schema.columns import holds_objects, is_canonical
from tamis.schema.reading import Reading, read_event, read_pairs

if TYPE_CHECKING:
    from tamis.schema.model import Schema

_ENOUGH = 20


def to_arrow(schema: Schema, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> pa.RecordBatch:
    """The events as a canonical batch; `EventError` names the first values that have no place in one.

    Checks values, not R1–R3. Attributes that no event has get no column, and names the schema does not have are
    passed over. A batch whose known columns are canonical already is not looked into.
    """
    if isinstance(events, pa.Table | pa.RecordBatch):
        return _from_arrow(schema, one_batch(events))
    return _from_dicts(schema, events)


def _from_arrow(schema: Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    known = [(place, name) for place, name in enumerate(batch.schema.names) if name in schema.attributes]
    if (
        len({name for _, name in known}) == len(known) > 0
        and not _has_known_objects(schema, batch)
        and all(is_canonical(batch.column(place), schema.attributes[name]) for place, name in known)
    ):
        return batch if len(known) == batch.num_columns else batch.select([place for place, _ in known])
    aligned = align(schema, batch, ignore_unknown=True)
    columns = aligned.columns
    if aligned.doubtful is not None:
        rows = np.flatnonzero(aligned.doubtful)
        readings = [
            read_pairs(schema, pairs, row) for row, pairs in zip(rows.tolist(), aligned.pairs(rows), strict=True)
        ]
        _refuse(readings)
        columns = patch(schema, columns, aligned.count, readings)
    return batch_of(columns, aligned.count, schema)


def _has_known_objects(schema: Schema, batch: pa.RecordBatch) -> bool:
    return any(
        holds_objects(kind) and any(known.startswith(f"{name}.") for known in schema.attributes)
        for name, kind in zip(batch.schema.names, batch.schema.types, strict=True)
    )


def _from_dicts(schema: Schema, events: Sequence[Mapping[str, object]]) -> pa.RecordBatch:
    readings = [read_event(schema, event, row) for row, event in enumerate(events)]
    _refuse(readings)
    names = {EVENT_TYPE}.union(*(reading.values for reading in readings))
    columns = {name: from_readings(schema, name, readings) for name in schema.attributes if name in names}
    return batch_of(columns, len(readings), schema)


def _refuse(readings: Sequence[Reading]) -> None:
    violations: list[Violation] = []
    for reading in readings:
        violations += reading.violations
        if len(violations) >= _ENOUGH:
            break
    if violations:
        raise EventError(violations)
