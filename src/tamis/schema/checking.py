"""Validation of whole batches: the valid rows as a canonical batch, and a reason for each of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tamis.errors import Violation
from tamis.quoting import shown
from tamis.schema.alignment import Aligned, Rows, align, batch_of, one_batch, patch
from tamis.schema.reading import Reading, check_view, read_pairs
from tamis.schema.view_check import breaks_view

if TYPE_CHECKING:
    from tamis.schema.model import Schema

VIOLATIONS = pa.schema(
    [
        pa.field("event", pa.int64()),
        pa.field("attribute", pa.string()),
        pa.field("rule", pa.string()),
        pa.field("value", pa.string()),
        pa.field("message", pa.string()),
    ]
)
_SHOWN_VALUE = 200


@dataclass(frozen=True)
class Checked:
    """The outcome of a check. Every row of the input is either in `valid_rows` or named in `violations`, never both.

    `valid` holds the valid rows in canonical form, row i being input row `valid_rows[i]`; `violations` has a row for
    each thing that is wrong: event (input row), attribute, rule, value, message, in the order of the input.
    """

    valid: pa.RecordBatch
    valid_rows: pa.Array
    violations: pa.Table


def check(schema: Schema, events: pa.Table | pa.RecordBatch, ignore_unknown: bool = False) -> Checked:
    """Check Arrow rows against the schema."""
    aligned = align(schema, one_batch(events), ignore_unknown)

    def read(rows: Rows) -> Iterable[Reading]:
        for row, pairs in zip(rows.tolist(), aligned.pairs(rows), strict=True):
            reading = read_pairs(schema, pairs, row)
            check_view(schema, reading, ignore_unknown)
            yield reading

    return sift(schema, aligned, read)


def sift(schema: Schema, aligned: Aligned, read: Callable[[Rows], Iterable[Reading]]) -> Checked:
    """Take the rows that are plainly valid, and have `read` decide the rest one by one."""
    suspect = breaks_view(schema, aligned.columns, aligned.count)
    if aligned.doubtful is not None:
        suspect |= aligned.doubtful
    if not suspect.any():
        everything = pa.array(np.arange(aligned.count))
        return Checked(batch_of(aligned.columns, aligned.count, schema), everything, violation_table([]))
    violations: list[Violation] = []
    readings: list[Reading] = []
    for reading in read(np.flatnonzero(suspect)):
        if reading.violations:
            violations += reading.violations
        else:
            readings.append(reading)
            suspect[reading.row] = False
    columns = patch(schema, aligned.columns, aligned.count, readings)
    valid_rows = pa.array(np.flatnonzero(~suspect))
    valid = batch_of(columns, aligned.count, schema).take(valid_rows)
    return Checked(valid, valid_rows, violation_table(violations))


def violation_table(violations: Sequence[Violation]) -> pa.Table:
    """Violations as Arrow, values as text."""
    return pa.table(
        [
            [violation.event for violation in violations],
            [_encodable(violation.attribute) for violation in violations],
            [violation.rule for violation in violations],
            [_value_text(violation.value) for violation in violations],
            [_encodable(violation.message) for violation in violations],
        ],
        schema=VIOLATIONS,
    )


def _value_text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        text = _encodable(value)
        return text if len(text) <= _SHOWN_VALUE else text[:_SHOWN_VALUE] + "..."
    return shown(value, _SHOWN_VALUE)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
