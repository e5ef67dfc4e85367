"""Validation of batches against the schema: valid rows as a canonical batch, and a violation for each of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Bools, Int64s
from tamis.errors import Violation, shown
from tamis.schema.canonical import Aligned, align, batch_of, one_batch, patch
from tamis.schema.columns import present
from tamis.schema.domains import EVENT_TYPE, Annotation
from tamis.schema.reading import Reading, check_view, read_pairs
from tamis.schema.tables import DELETE, OPERATION, UPDATE, breaks_table, deletes

if TYPE_CHECKING:
    from tamis.schema.model import Schema


_UNTYPED = -1

Kind: TypeAlias = tuple[str, ...]
"""The event types of some rows, all together."""


def breaks_view(schema: Schema, columns: Mapping[str, pa.Array], count: int, judged: bool = False) -> Bools:
    """Mask of rows whose attributes are not what their event types ask for."""
    codes, kinds = _kinds(schema, columns.get(EVENT_TYPE), count)
    broken = codes == _UNTYPED
    if not kinds:
        return broken
    # Rows without a type are broken whatever they hold: any view will do for them.
    codes[broken] = 0
    views = [schema.view(kind) for kind in kinds]
    deleting = None
    if schema.tables:
        if not judged:
            broken |= _breaks_table(schema, columns.get(OPERATION), codes, kinds)
        deleting = _deleting(schema, columns.get(OPERATION), codes, kinds)
    alone = len(views) == 1
    for name in {name for view in views for name in view}.union(columns) - {EVENT_TYPE}:
        found = [view.get(name) for view in views]
        allowed, mandatory, unique = (
            np.array([rule(annotation) for annotation in found], dtype=np.bool_)
            for rule in (_allowed, _mandatory, _unique)
        )
        array = columns.get(name)
        here = np.zeros(count, dtype=np.bool_) if array is None else present(array)
        if deleting is not None:
            asked = np.array([name in _keys(schema, kind) for kind in kinds], dtype=np.bool_)[codes]
            broken |= np.where(here, ~allowed[codes], mandatory[codes] & (asked | ~deleting))
        elif alone:
            if not allowed[0]:
                broken |= here
            elif mandatory[0]:
                broken |= ~here
        else:
            broken |= np.where(here, ~allowed[codes], mandatory[codes])
        if array is not None and pa.types.is_list(array.type) and unique.any():
            several = np.asarray(pc.fill_null(pc.list_value_length(array), 0)) > 1
            broken |= several & unique[codes]
    return broken


def _allowed(annotation: Annotation | None) -> bool:
    return annotation is not None


def _mandatory(annotation: Annotation | None) -> bool:
    return annotation is not None and annotation.mandatory


def _unique(annotation: Annotation | None) -> bool:
    return annotation is not None and not annotation.multiple


def _breaks_table(
    schema: Schema, operations: pa.Array | None, codes: npt.NDArray[np.int64], kinds: Sequence[Kind]
) -> Bools:
    broken = np.zeros(len(codes), dtype=np.bool_)
    for operation in (None, UPDATE, DELETE) if operations is not None else (None,):
        wrong = np.array([bool(breaks_table(kind, operation, schema.tables)) for kind in kinds], dtype=np.bool_)
        if wrong.any():
            broken |= wrong[codes] & (True if operation is None else _is(operations, operation))
    return broken


def _deleting(
    schema: Schema, operations: pa.Array | None, codes: npt.NDArray[np.int64], kinds: Sequence[Kind]
) -> Bools | None:
    """Mask of the rows that need no more than a key; None if there are none."""
    if operations is None:
        return None
    able = np.array([deletes(kind, DELETE, schema.tables) for kind in kinds], dtype=np.bool_)
    found: Bools = able[codes] & _is(operations, DELETE)
    return found if found.any() else None


def _is(operations: pa.Array, operation: str) -> Bools:
    return np.asarray(pc.fill_null(pc.equal(operations, operation), False))


def _keys(schema: Schema, kind: Kind) -> frozenset[str]:
    return frozenset(name for table in kind if table in schema.tables for name in schema.tables[table].key)


def _kinds(schema: Schema, types: pa.Array | None, count: int) -> tuple[npt.NDArray[np.int64], list[Kind]]:
    """Code of every row, and the event types that each code stands for; `_UNTYPED` for rows that break R1."""
    names = list(schema.event_types)
    default = names.index(schema.default_event_type) if schema.default_event_type is not None else _UNTYPED
    if types is None:
        return (
            np.full(count, min(default, 0), dtype=np.int64),
            [] if default == _UNTYPED else [(names[default],)],
        )
    lengths = np.asarray(pc.fill_null(pc.list_value_length(types), 0), dtype=np.int64)
    found = pc.fill_null(pc.index_in(types.flatten(), value_set=pa.array(names)), _UNTYPED)
    positions = np.asarray(found, dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    codes = np.full(count, default, dtype=np.int64)
    single = lengths == 1
    codes[single] = positions[starts[single]]
    combinations: list[tuple[int, ...]] = [(position,) for position in range(len(names))]
    if lengths.max(initial=0) > 1:
        _code_combinations(codes, combinations, positions, lengths)
    used = np.bincount(codes + 1, minlength=len(combinations) + 1)[1:] > 0
    renumbered = np.concatenate([[_UNTYPED], np.cumsum(used) - 1])
    kinds = [
        tuple(names[position] for position in combination)
        for combination, is_used in zip(combinations, used, strict=True)
        if is_used
    ]
    return renumbered[codes + 1], kinds


def _code_combinations(
    codes: npt.NDArray[np.int64],
    combinations: list[tuple[int, ...]],
    positions: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
) -> None:
    """Gives the rows of several types their codes, one for each different combination."""
    several = lengths > 1
    offsets = np.concatenate([[0], np.cumsum(lengths[several])]).astype(np.int32)
    numbers = pa.array(positions[np.repeat(several, lengths)]).cast(pa.string())
    encoded = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), numbers), ",").dictionary_encode()
    known: dict[frozenset[int], int] = {}
    own = np.empty(len(encoded.dictionary), dtype=np.int64)
    for place, text in enumerate(encoded.dictionary.to_pylist()):
        members = frozenset(int(position) for position in text.split(","))
        if _UNTYPED in members:
            own[place] = _UNTYPED
            continue
        if members not in known:
            known[members] = len(combinations)
            combinations.append(tuple(members))
        own[place] = known[members]
    codes[several] = own[np.asarray(encoded.indices)]


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
    """Result of a validation: every input row is either in `valid_rows` or named in `violations`, never both.

    `valid` holds the valid rows in canonical form, row i being input row `valid_rows[i]`; `violations` has a row for
    each thing that is wrong: event (input row), attribute, rule, value, message, in the order of the input.
    """

    valid: pa.RecordBatch
    valid_rows: pa.Array
    violations: pa.Table


def check(schema: Schema, events: pa.Table | pa.RecordBatch, ignore_unknown: bool = False) -> Checked:
    """Checks Arrow rows against the schema."""
    aligned = align(schema, one_batch(events), ignore_unknown)

    def read(rows: Int64s) -> Iterable[Reading]:
        for row, pairs in zip(rows.tolist(), aligned.pairs(rows), strict=True):
            reading = read_pairs(schema, pairs, row)
            check_view(schema, reading, ignore_unknown)
            yield reading

    return sift(schema, aligned, read)


def sift(
    schema: Schema, aligned: Aligned, read: Callable[[Int64s], Iterable[Reading]], judged: bool = False
) -> Checked:
    """Takes the rows that are plainly valid, and has `read` decide the rest one by one."""
    suspect = breaks_view(schema, aligned.columns, aligned.count, judged)
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
