"""For looking back: history may hold values that are in no domain, and one of them must not spoil the rest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import EventError
from tamis.schema import Schema


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
