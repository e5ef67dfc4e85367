"""The columns that an event becomes: what the kernels see of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.matching.codes.codes import ABSENT
from tamis.matching.codes.dictionary import Dictionary, validity
from tamis.matching.codes.encoding_kernels import (
    BIT,
    COLUMN,
    FIELDS,
    VALID,
    encode_columns,
    extremes,
    gather_sets,
)  # fmt: skip
from tamis.matching.codes.versus import compare, nan_refused
from tamis.matching.patterns import PatternSet
from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.columns import typed

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

_MANY = 64  # codes of one event are sorted before the kernel inserts them one by one


class Kind(StrEnum):
    """What a column holds. The first four hold one code an event, the last two a set of codes."""

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
    """One column; `operator` and `other` only for VERSUS."""

    kind: Kind
    attribute: str
    operator: str = ""
    other: str = ""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A chunk of events in codes.

    `codes[event, column]` for the single-code columns, and one more that is never absent, for padding. The set
    columns follow in number: set s of event e is `set_codes[set_ends[s, e]:set_ends[s, e + 1]]`, ascending.
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
