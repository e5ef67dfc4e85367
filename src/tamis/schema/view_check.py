"""R1–R3 and tables over a whole batch of canonical columns: which rows do not satisfy the view of their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.schema.attributes import EVENT_TYPE, Annotation
from tamis.schema.columns import Mask, present
from tamis.schema.tables import DELETE, OPERATION, UPDATE, breaks_table, deletes

if TYPE_CHECKING:
    from tamis.schema.model import Schema

_UNTYPED = -1

Kind: TypeAlias = tuple[str, ...]
"""The event types of some rows, all together."""


def breaks_view(schema: Schema, columns: Mapping[str, pa.Array], count: int) -> Mask:
    """The rows whose attributes are not what their event types ask for."""
    codes, kinds = _kinds(schema, columns.get(EVENT_TYPE), count)
    broken = codes == _UNTYPED
    if not kinds:
        return broken
    # Rows without a type are broken whatever they hold: any view will do for them.
    codes[broken] = 0
    views = [schema.view(kind) for kind in kinds]
    deleting = None
    if schema.tables:
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
) -> Mask:
    broken = np.zeros(len(codes), dtype=np.bool_)
    for operation in (None, UPDATE, DELETE) if operations is not None else (None,):
        wrong = np.array([bool(breaks_table(kind, operation, schema.tables)) for kind in kinds], dtype=np.bool_)
        if wrong.any():
            broken |= wrong[codes] & (True if operation is None else _is(operations, operation))
    return broken


def _deleting(
    schema: Schema, operations: pa.Array | None, codes: npt.NDArray[np.int64], kinds: Sequence[Kind]
) -> Mask | None:
    """The rows that need no more than a key; None if there are none."""
    if operations is None:
        return None
    able = np.array([deletes(kind, DELETE, schema.tables) for kind in kinds], dtype=np.bool_)
    found: Mask = able[codes] & _is(operations, DELETE)
    return found if found.any() else None


def _is(operations: pa.Array, operation: str) -> Mask:
    return np.asarray(pc.fill_null(pc.equal(operations, operation), False))


def _keys(schema: Schema, kind: Kind) -> frozenset[str]:
    return frozenset(name for table in kind if table in schema.tables for name in schema.tables[table].key)


def _kinds(schema: Schema, types: pa.Array | None, count: int) -> tuple[npt.NDArray[np.int64], list[Kind]]:
    """A code for every row, and the event types that each code stands for; `_UNTYPED` for rows that break R1."""
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
    """Give the rows of several types their codes, one for each different combination."""
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
