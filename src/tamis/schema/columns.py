"""Conversion of Arrow columns, a whole column at a time: structs taken apart into dotted names, values into an
attribute's canonical type.

Each conversion either proves that every value keeps its meaning, or marks the rows it cannot vouch for as doubtful.
A doubtful row is not a bad one: `reading` decides. So a conversion here may be incomplete, but never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Bools
from tamis.schema.domains import Attribute, Domain, EnumeratedDomain, HierarchicalDomain
from tamis.schema.timestamps import instants
from tamis.schema.values import decoded

# Below this every integer is a float; from here on, only some.
EXACT_INTEGERS = float(2**53)
# Digits before the point that fit into 64 bits, and digits that a decimal has in all.
_SAFE_DIGITS, _MOST_DIGITS = 18, 76


@dataclass(frozen=True)
class Column:
    """Canonical column of an attribute. Where `doubtful` is set the value is arbitrary; None: no row is doubtful."""

    values: pa.Array
    doubtful: Bools | None = None


def flat_columns(batch: pa.RecordBatch, solitary: Collection[str] = frozenset()) -> Iterator[tuple[str, pa.Array]]:
    """Columns of a batch, with structs, and lists of structs, taken apart into dotted names.

    Lists of structs under a name in `solitary` are left as they are.
    """
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        yield from _flatten(name, array, solitary)


def holds_objects(kind: pa.DataType) -> bool:
    """True if columns of this type hold structs, by themselves or in lists, under whatever encoding."""
    if isinstance(kind, pa.ExtensionType):
        return holds_objects(kind.storage_type)
    if is_list(kind) or pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return holds_objects(kind.value_type)
    return pa.types.is_struct(kind)


def _flatten(name: str, array: pa.Array, solitary: Collection[str]) -> Iterator[tuple[str, pa.Array]]:
    kind = array.type
    encoded = pa.types.is_run_end_encoded(kind) or (pa.types.is_dictionary(kind) and holds_objects(kind))
    if encoded or isinstance(array, pa.ExtensionArray):
        array = plain(array)
    if pa.types.is_struct(array.type):
        for field, child in zip(array.type, array.flatten(), strict=True):
            yield from _flatten(f"{name}.{field.name}", child, solitary)
    elif is_list(array.type) and holds_objects(array.type) and name not in solitary:
        yield from _flatten_objects(name, array, solitary)
    else:
        yield name, array


def _flatten_objects(name: str, array: pa.Array, solitary: Collection[str]) -> Iterator[tuple[str, pa.Array]]:
    """Leaves of a column of lists of structs, each as one list per row."""
    lengths = _lengths(array)
    for leaf_name, leaf in _flatten(name, plain(array.flatten()), solitary):
        leaf = plain(leaf) if isinstance(leaf, pa.ExtensionArray) else leaf
        counts = lengths
        if is_list(leaf.type):
            counts = np.add.reduceat(np.append(_lengths(leaf), 0), np.cumsum(lengths) - lengths) * (lengths > 0)
            leaf = leaf.flatten()
        offsets = np.concatenate([[0], np.cumsum(counts)])
        yield leaf_name, pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), leaf)


def plain(array: pa.Array) -> pa.Array:
    """Values themselves, without the encodings and views that most of Arrow's functions do not take."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return plain(array.storage)
    if pa.types.is_dictionary(kind):
        return plain(array.dictionary).take(array.indices)
    if pa.types.is_run_end_encoded(kind):
        rows = np.arange(array.offset, array.offset + len(array))
        return plain(array.values).take(pa.array(np.searchsorted(np.asarray(array.run_ends), rows, "right")))
    if pa.types.is_string_view(kind):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(kind) else array


def is_canonical(array: pa.Array, attribute: Attribute) -> bool:
    """True if the column can be used as it is: its type fits, and its lists have no nulls inside."""
    if array.type != attribute.arrow_type:
        return False
    return not attribute.multiple or array.values.null_count == 0


def conform(array: pa.Array, attribute: Attribute) -> Column:
    """Converts any Arrow column to the attribute's canonical column."""
    array = plain(array)
    if not is_list(array.type):
        column = _conform_values(array, attribute.domain)
        return _wrap(column) if attribute.multiple else column
    lengths = _lengths(array)
    items = plain(array.flatten())
    if items.null_count:
        valid = _valid(items)
        lengths = np.bincount(np.repeat(np.arange(len(array)), lengths)[valid], minlength=len(array))
        items = items.drop_null()
    column = _conform_values(items, attribute.domain)
    return _nest(column, lengths) if attribute.multiple else _single(column, lengths)


def present(array: pa.Array) -> Bools:
    """Mask of rows in which the attribute has a value; an empty list is none."""
    if is_list(array.type):
        return _lengths(array) > 0
    return _valid(array)


def typed(types: pa.Array | None, default: str, count: int) -> pa.Array:
    """Event types of so many events, with the default where an event names none."""
    defaults = pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32)), pa.repeat(default, count))
    if types is None:
        return defaults
    untyped = pc.equal(pc.fill_null(pc.list_value_length(types), 0), 0)
    return pc.if_else(untyped, defaults, types) if pc.any(untyped).as_py() else types


def _lengths(array: pa.Array) -> npt.NDArray[np.int64]:
    """Number of items of each list; a null has none."""
    return np.asarray(pc.fill_null(pc.list_value_length(array), 0), dtype=np.int64)


def is_list(kind: pa.DataType) -> bool:
    """True if columns of this type hold lists, in any of Arrow's forms."""
    return (
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def _nest(column: Column, lengths: npt.NDArray[np.int64]) -> Column:
    """Items regrouped into one list per row; a row without items is null."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    lists = pa.ListArray.from_arrays(pa.array(offsets), column.values, mask=pa.array(lengths == 0))
    return Column(lists, None if column.doubtful is None else rows_of(column.doubtful, lengths))


def rows_of(doubtful: Bools, lengths: npt.NDArray[np.int64]) -> Bools:
    """Rows of the doubtful items, where row i has `lengths[i]` items."""
    parents = np.repeat(np.arange(len(lengths)), lengths)
    rows = np.zeros(len(lengths), dtype=np.bool_)
    rows[parents[doubtful]] = True
    return rows


def _single(column: Column, lengths: npt.NDArray[np.int64]) -> Column:
    """Lists of one item as that item; longer lists are doubtful, for the reader to refuse."""
    starts = np.cumsum(lengths) - lengths
    picked = column.values.take(pa.array(starts, mask=lengths == 0))
    doubtful = lengths > 1
    if column.doubtful is not None:
        doubtful |= rows_of(column.doubtful, lengths)
    return Column(picked, doubtful if doubtful.any() else None)


def _wrap(column: Column) -> Column:
    """Scalars as lists of one."""
    lengths = _valid(column.values).astype(np.int64)
    values = column.values.drop_null() if column.values.null_count else column.values
    return Column(_nest(Column(values), lengths).values, column.doubtful)


def _conform_values(array: pa.Array, domain: Domain) -> Column:
    if pa.types.is_null(array.type):
        return Column(pa.nulls(len(array), domain.arrow_type))
    column = _CONVERSIONS[domain.kind](array, domain)
    return _doubt_all(array, domain) if column is None else column


def _doubt_all(array: pa.Array, domain: Domain) -> Column:
    doubtful = _valid(array)
    return Column(pa.nulls(len(array), domain.arrow_type), doubtful if doubtful.any() else None)


def _integers(array: pa.Array, _: Domain) -> Column | None:
    kind = array.type
    if pa.types.is_uint64(kind):
        return _unless(pc.greater(array, pa.scalar(2**63 - 1, pa.uint64())), array.cast(pa.int64(), safe=False))
    if pa.types.is_integer(kind):
        return Column(array.cast(pa.int64()))
    if pa.types.is_floating(kind):
        floats = array.cast(pa.float64())
        # Not `<=`: 2**63 - 1 has no double, the nearest is 2**63. NaN fails every comparison.
        whole = pc.and_(pc.equal(floats, pc.trunc(floats)), pc.less(pc.abs(floats), 2.0**63))
        return _unless(pc.invert(whole), floats.cast(pa.int64(), safe=False))
    if pa.types.is_decimal(kind):
        scale = max(kind.scale, 0)
        if kind.precision - kind.scale > _SAFE_DIGITS or scale + _SAFE_DIGITS > _MOST_DIGITS:
            return None
        # Arrow does not truncate decimals of other widths, nor those without a place for a digit before the point.
        wide = array.cast(
            pa.decimal128(38, scale) if scale + _SAFE_DIGITS <= 38 else pa.decimal256(_MOST_DIGITS, scale)
        )
        return _unless(pc.not_equal(pc.trunc(wide), wide), wide.cast(pa.int64(), safe=False))
    return None


def _floats(array: pa.Array, _: Domain) -> Column | None:
    kind = array.type
    if pa.types.is_floating(kind):
        floats = array.cast(pa.float64())
        return _unless(pc.is_nan(floats), floats)
    if pa.types.is_integer(kind):
        floats = array.cast(pa.float64(), safe=False)
        # At the limit itself too: the next integer is rounded to it.
        return _unless(pc.greater_equal(pc.abs(floats), EXACT_INTEGERS), floats)
    if pa.types.is_decimal(kind):
        # Through text, which is read as the nearest double; a direct cast may be one off.
        return Column(array.cast(pa.string()).cast(pa.float64()))
    return None


def _strings(array: pa.Array, _: Domain) -> Column | None:
    kind = array.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    doubtful = _broken_texts(array)
    return Column(array.cast(pa.string()), doubtful)


def _booleans(array: pa.Array, _: Domain) -> Column | None:
    return Column(array) if pa.types.is_boolean(array.type) else None


def _timestamps(array: pa.Array, _: Domain) -> Column | None:
    found = instants(array)
    return None if found is None else Column(*found)


def _binaries(array: pa.Array, _: Domain) -> Column | None:
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return Column(*decoded(array))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return Column(array.cast(pa.binary()))
    return Column(array.cast(pa.binary())) if pa.types.is_fixed_size_binary(kind) else None


def _listed(array: pa.Array, domain: Domain) -> Column | None:
    assert isinstance(domain, EnumeratedDomain | HierarchicalDomain)
    column = _strings(array, domain)
    if column is None:
        return None
    known = pc.is_in(column.values, value_set=pa.array(domain.values, pa.string()))
    return Column(column.values, either(column.doubtful, _unless(pc.invert(known), column.values).doubtful))


def either(left: Bools | None, right: Bools | None) -> Bools | None:
    """Mask of rows that either side doubts."""
    if left is None or right is None:
        return right if left is None else left
    return left | right


def _unless(doubtful: pa.Array, values: pa.Array) -> Column:
    """Values, with doubt where the condition holds; a null is never doubtful."""
    if not pc.any(doubtful).as_py():
        return Column(values)
    mask = np.asarray(pc.fill_null(doubtful, False)) & _valid(values)
    return Column(values, mask if mask.any() else None)


def _broken_texts(array: pa.Array) -> Bools | None:
    """Rows in which the bytes of a string are no UTF-8: Arrow does not check it by itself."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        broken = np.zeros(len(array), dtype=np.bool_)
        for row, text in enumerate(array):
            try:
                text.as_py()
            except UnicodeDecodeError:
                broken[row] = True
        return broken
    return None


def _valid(array: pa.Array) -> Bools:
    if array.null_count == 0:
        return np.ones(len(array), dtype=np.bool_)
    return np.asarray(array.is_valid())


_CONVERSIONS: dict[str, Callable[[pa.Array, Any], Column | None]] = {
    "integer": _integers,
    "float": _floats,
    "string": _strings,
    "boolean": _booleans,
    "timestamp": _timestamps,
    "binary": _binaries,
    "enumerated": _listed,
    "hierarchical": _listed,
}
