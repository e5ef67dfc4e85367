"""Encoding of an Arrow batch as columns of integer codes, and comparison of two attributes, column against column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int32s, Int64s
from tamis.compiled import kernel
from tamis.errors import EventError, Violation
from tamis.matching.codes.dictionary import Dictionary, validity
from tamis.matching.codes.encoding import (
    ABSENT,
    BIT,
    COLUMN,
    FIELDS,
    VALID,
    encode_columns,
    extremes,
    gather_sets,
)
from tamis.matching.patterns import PatternSet
from tamis.schema import EVENT_TYPE, EnumeratedDomain, HierarchicalDomain, Schema
from tamis.schema.columns import typed

# Attribute against attribute (`a < b`): decided once per batch, column against column.


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
    """Error for an event that has NaN as a value."""
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
    """Positions of the values in their domain; after its last one if they are not in it."""
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


_MANY = 64  # codes of one event are sorted before the kernel inserts them one by one


class Kind(StrEnum):
    """Kind of a column: the first four kinds hold one code per event, the last two a set of codes."""

    VALUE = "value"  # of a single-valued attribute
    LEAST = "least"  # of a multiple-valued attribute's values: `some value < c` is `least < c`
    GREATEST = "greatest"
    VERSUS = "versus"  # attribute against attribute: 1 holds, 0 does not, absent where either is
    VALUES = "values"  # of a multiple-valued attribute
    PATTERNS = "patterns"  # of the attribute that some value matches; pattern p has the code 2p + 1

    @property
    def is_set(self) -> bool:
        return self in (Kind.VALUES, Kind.PATTERNS)


@dataclass(frozen=True, slots=True, order=True)
class Column:
    """A column of codes: its kind and attribute; `operator` and `other` only for VERSUS."""

    kind: Kind
    attribute: str
    operator: str = ""
    other: str = ""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A chunk of events as codes.

    `codes[event, column]` for the single-code columns, and one more column that is never absent, for padding. Set
    columns are numbered after these; set s of event e is `set_codes[set_ends[s, e]:set_ends[s, e + 1]]`, ascending.
    """

    codes: Int32s
    set_ends: Int64s
    set_codes: Int32s


class Encoder:
    """Encodes batches for one level: its columns, the dictionaries of their attributes, their patterns.

    `columns` holds the single-code columns first, then the sets; a column's number is its position.
    """

    def __init__(
        self,
        columns: tuple[Column, ...],
        dictionaries: Mapping[str, Dictionary],
        patterns: Mapping[str, PatternSet],
        schema: Schema,
    ) -> None:
        self.columns = columns
        self.dictionaries = dict(dictionaries)
        self.patterns = dict(patterns)
        self.singles = sum(not column.kind.is_set for column in columns)
        self._schema = schema

    @cached_property
    def number(self) -> dict[Column, int]:
        return {column: i for i, column in enumerate(self.columns)}

    @cached_property
    def _multiple(self) -> list[str]:
        return sorted({c.attribute for c in self.columns if c.kind in (Kind.LEAST, Kind.GREATEST, Kind.VALUES)})

    def encode(self, batch: pa.RecordBatch) -> Encoded:
        """The columns of a canonical batch; attributes it lacks are absent."""
        given = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
        default = self._schema.default_event_type
        if default is not None and any(EVENT_TYPE in (c.attribute, c.other) for c in self.columns):
            given[EVENT_TYPE] = typed(given.get(EVENT_TYPE), default, len(batch))
        codes = np.full((len(batch), self.singles + 1), ABSENT, np.int32)
        codes[:, self.singles] = 0
        sets: dict[int, tuple[Int64s, Int32s]] = {}
        plain: list[tuple[int, str, pa.Array]] = []
        for number, column in enumerate(self.columns):
            values = given.get(column.attribute)
            if values is None or values.null_count == len(values):
                continue
            if column.kind is Kind.VALUE:
                plain.append((number, column.attribute, values))
            elif column.kind is Kind.VERSUS and column.other in given:
                codes[:, number] = compare(self._schema, column, values, given[column.other])
            elif column.kind is Kind.PATTERNS:
                ends, numbers = self.patterns[column.attribute].match(_flat(values))
                sets[number] = _sets(values, ends, 2 * numbers + 1)
        if (nan := self._encode_plain(plain, codes)) is not None:
            raise nan_refused(*nan)
        for attribute in self._multiple:
            if attribute in given:
                self._encode_values(attribute, given[attribute], codes, sets)
        return self._gathered(codes, sets)

    def _encode_plain(self, columns: list[tuple[int, str, pa.Array]], codes: Int32s) -> tuple[str, int] | None:
        """Single values, all columns in one call. Returns the attribute and the row of a NaN, if there is one."""
        jobs, grids = np.empty((len(columns), FIELDS), np.int64), np.empty((len(columns), 2))
        held = []  # what the jobs point into stays alive until they are done
        for job, grid, (number, attribute, values) in zip(jobs, grids, columns, strict=True):
            dictionary = self.dictionaries[attribute]
            held.append(array := dictionary.describe(values, job))
            job[COLUMN], job[VALID], job[BIT] = number, validity(array), array.offset
            grid[:] = dictionary.grid
        nan = encode_columns(jobs, grids, len(columns), len(codes), codes)
        return (columns[nan >> 32][1], nan & 0xFFFFFFFF) if nan >= 0 else None

    def _encode_values(
        self, attribute: str, lists: pa.Array, codes: Int32s, sets: dict[int, tuple[Int64s, Int32s]]
    ) -> None:
        flat = _flat(lists)
        coded, nan = self.codes_of(attribute, flat)
        if nan is not None:
            raise nan_refused(attribute, int(np.searchsorted(_list_offsets(lists), nan, side="right")) - 1)
        ends, members = _sets(lists, np.arange(len(flat) + 1, dtype=np.int64), coded)
        least = self.number.get(Column(Kind.LEAST, attribute), -1)
        greatest = self.number.get(Column(Kind.GREATEST, attribute), -1)
        extremes(ends, members, codes, least, greatest)
        if (values := self.number.get(Column(Kind.VALUES, attribute))) is not None:
            sets[values] = ends, members

    def codes_of(self, attribute: str, values: pa.Array) -> tuple[Int32s, int | None]:
        """The codes of some values of one attribute; and where there is a NaN among them, if there is one."""
        coded = np.full((len(values), 1), ABSENT, np.int32)
        nan = self._encode_plain([(0, attribute, values)], coded)
        return coded[:, 0], None if nan is None else nan[1]

    def _gathered(self, codes: Int32s, sets: dict[int, tuple[Int64s, Int32s]]) -> Encoded:
        count = len(self.columns) - self.singles
        ends = np.zeros((count, len(codes) + 1), np.int64)
        pieces: list[Int32s] = []
        base = 0
        for s in range(count):
            if (found := sets.get(self.singles + s)) is not None:
                ends[s] = found[0] + base
                pieces.append(found[1])
                base += len(found[1])
        return Encoded(codes, ends, np.concatenate(pieces) if pieces else np.zeros(0, np.int32))


def _flat(values: pa.Array) -> pa.Array:
    """The values of a list column in order, null lists included as nothing; a plain column is its own."""
    if not pa.types.is_list(values.type):
        return values
    first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
    return values.values.slice(first, last - first)


def _sets(values: pa.Array, piece_offsets: Int64s, pieces: Int32s) -> tuple[Int64s, Int32s]:
    """Each row's set of codes, given the codes of each of its values."""
    ends, codes = np.empty(len(values) + 1, np.int64), np.empty(len(pieces), np.int32)
    lists = _list_offsets(values)
    sizes = np.diff(piece_offsets[lists])
    if sizes.max(initial=0) > _MANY:
        pieces = pieces[np.lexsort((pieces, np.repeat(np.arange(len(sizes)), sizes)))]
    end = gather_sets(validity(values), values.offset, lists, piece_offsets, pieces, ends, codes)
    return ends, codes[:end]


def _list_offsets(values: pa.Array) -> Int64s:
    """Row r has the values `offsets[r]:offsets[r + 1]` of `_flat`."""
    if not pa.types.is_list(values.type):
        return np.arange(len(values) + 1, dtype=np.int64)
    offsets: Int64s = values.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0]
