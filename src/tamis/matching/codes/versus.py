"""Attribute against attribute: decided once a batch, column against column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.compiled import kernel
from tamis.errors import EventError, Violation
from tamis.matching.codes.codes import ABSENT
from tamis.schema import EnumeratedDomain, HierarchicalDomain, Schema

if TYPE_CHECKING:
    from tamis.matching.codes.columns import Column

Int64s = npt.NDArray[np.int64]


def compare(schema: Schema, column: Column, left: pa.Array, right: pa.Array) -> Any:
    """1 where some pair of values satisfies `left operator right`, 0 where none does, ABSENT where a side is absent."""
    left_rows, left_values = _values(left, column.attribute)
    right_rows, right_values = _values(right, column.other)
    domain = schema.attributes[column.attribute].domain
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain) and column.operator != "=":
        ranks, others = (_positions(domain, side) for side in (left_values, right_values))
        starts, related = _relation(domain, column.operator, others)
        return _by_relation(starts, related, left_rows, ranks, right_rows, others)
    ranks, others = _ranks(left_values, right_values)
    return _by_rank(("=", "<", "<=").index(column.operator), left_rows, ranks, right_rows, others)


def nan_refused(attribute: str, event: int) -> EventError:
    """An event that has NaN for a value."""
    message = "NaN is no number: leave the attribute out instead"
    return EventError([Violation(event, attribute, "domain", float("nan"), message)])


def _values(array: pa.Array, attribute: str) -> tuple[Int64s, pa.Array]:
    """Offsets of each row's values, and the values without nulls; `EventError` if one is NaN."""
    if pa.types.is_list(array.type):
        flat = array.flatten()
        lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0))
        parents = np.repeat(np.arange(len(array)), lengths)[np.asarray(pc.is_valid(flat))]
        counts = np.bincount(parents, minlength=len(array))
        values = flat.drop_null()
    else:
        counts = np.asarray(pc.is_valid(array).cast(pa.int64()))
        values = array.drop_null()
    rows = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    if pa.types.is_floating(values.type) and (nan := pc.index(pc.is_nan(values), True).as_py()) >= 0:
        raise nan_refused(attribute, int(np.searchsorted(rows, nan, side="right")) - 1)
    return rows, values


def _ranks(left: pa.Array, right: pa.Array) -> tuple[Int64s, Int64s]:
    """Both sides' values by rank among all of them: exact, integers against doubles included."""
    if pa.types.is_string(left.type) or pa.types.is_large_string(left.type):
        both = pa.concat_arrays([left.cast(pa.large_binary()), right.cast(pa.large_binary())])
        coded = both.dictionary_encode()
        order = np.asarray(pc.array_sort_indices(coded.dictionary))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        ranks = rank[np.asarray(coded.indices)] if len(both) else np.zeros(0, np.int64)
    else:
        # An integer is the nearest double and what that rounding left over: in this order, exact.
        parts = [_double_and_rest(side) for side in (left, right)]
        doubles, rests = (np.concatenate([p[i] for p in parts]) for i in (0, 1))
        order = np.lexsort((rests, doubles))
        doubles, rests = doubles[order], rests[order]
        steps = (doubles[1:] != doubles[:-1]) | (rests[1:] != rests[:-1])  # no differences: inf - inf is NaN
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.concatenate([np.zeros(min(1, len(order)), np.int64), np.cumsum(steps)])
    return ranks[: len(left)], ranks[len(left) :]


def _double_and_rest(values: pa.Array) -> tuple[npt.NDArray[np.float64], Int64s]:
    if pa.types.is_timestamp(values.type) or pa.types.is_boolean(values.type):
        values = values.cast(pa.int64())
    raw = np.asarray(values)
    if raw.dtype != np.int64:
        return raw.astype(np.float64) + 0.0, np.zeros(len(raw), np.int64)
    doubles = raw.astype(np.float64)
    doubles = np.where(doubles >= 2.0**63, np.nextafter(2.0**63, 0), doubles)  # stay where int64 can follow
    return doubles, raw - doubles.astype(np.int64)


def _positions(domain: EnumeratedDomain | HierarchicalDomain, values: pa.Array) -> Int64s:
    """Where the values stand in their domain; after its last one if they do not."""
    found = pc.index_in(values, pa.array(domain.values, values.type))
    return np.asarray(pc.fill_null(found, len(domain.values)).cast(pa.int64()))


def _relation(domain: EnumeratedDomain | HierarchicalDomain, operator: str, positions: Int64s) -> tuple[Int64s, Int64s]:
    """For those positions y, which x are in `x operator y`: `related[starts[y]:starts[y + 1]]`, ascending."""
    sizes = np.zeros(len(domain.values) + 1, np.int64)
    related: list[int] = []
    for y in np.unique(positions).tolist():
        if y < len(domain.values):
            satisfying = domain.satisfying(operator, domain.values[y])
            related += satisfying
            sizes[y] = len(satisfying)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), np.array(related, np.int64)


@kernel
def _by_relation(starts: Any, related: Any, left_rows: Any, left: Any, right_rows: Any, right: Any) -> Any:
    out = np.full(len(left_rows) - 1, ABSENT, np.int32)
    for row in range(len(out)):
        if left_rows[row] < left_rows[row + 1] and right_rows[row] < right_rows[row + 1]:
            out[row] = 0
            for j in range(right_rows[row], right_rows[row + 1]):
                some = related[starts[right[j]] : starts[right[j] + 1]]
                for i in range(left_rows[row], left_rows[row + 1]):
                    place = np.searchsorted(some, left[i])
                    if place < len(some) and some[place] == left[i]:
                        out[row] = 1
    return out


@kernel
def _by_rank(operator: int, left_rows: Any, left: Any, right_rows: Any, right: Any) -> Any:
    out = np.full(len(left_rows) - 1, ABSENT, np.int32)
    for row in range(len(out)):
        if left_rows[row] < left_rows[row + 1] and right_rows[row] < right_rows[row + 1]:
            out[row] = 0
            for i in range(left_rows[row], left_rows[row + 1]):
                for j in range(right_rows[row], right_rows[row + 1]):
                    x, y = left[i], right[j]
                    if (operator == 0 and x == y) or (operator == 1 and x < y) or (operator == 2 and x <= y):
                        out[row] = 1
    return out
