"""Events into keys: what the tree sees of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int32s, Int64s, UInt8s
from tamis.compiled import bare_kernel
from tamis.lab.tree.vocabulary import Source, Vocabulary, float_keys
from tamis.matching.codes.codes import ABSENT
from tamis.matching.codes.columns import Kind, nan_refused
from tamis.schema import EVENT_TYPE
from tamis.schema.columns import typed

_PLAIN = (Kind.VALUE, Kind.LEAST, Kind.GREATEST, Kind.VALUES)


class Encoded(NamedTuple):
    """Some events in keys: `values[event, column]` where `present`, for the columns of one key an event.

    `sets[column]` is -1 for those, else the number s of a column of sets, whose keys for event e are
    `set_keys[set_ends[s, e]:set_ends[s, e + 1]]`, each once.
    """

    values: Int64s
    present: UInt8s
    sets: Int32s
    set_ends: Int64s
    set_keys: Int64s


@bare_kernel
def sort_sets(starts: Any, valid: Any, keys: Any, ends: Any, out: Any) -> int:
    """The keys of each row ascending, each once. Returns the end."""
    end = 0
    ends[0] = 0
    for row in range(len(starts) - 1):
        first = end
        if valid[row]:
            for i in range(starts[row], starts[row + 1]):
                at = end
                while at > first and out[at - 1] > keys[i]:
                    at -= 1
                if at > first and out[at - 1] == keys[i]:
                    continue
                for j in range(end, at, -1):
                    out[j] = out[j - 1]
                out[at] = keys[i]
                end += 1
        ends[row + 1] = end
    return end


def encode(vocabulary: Vocabulary, batch: pa.RecordBatch) -> Encoded:
    """The columns of a canonical batch; attributes it lacks are absent."""
    return _Encoding(vocabulary, batch).encoded()


class _Encoding:
    def __init__(self, vocabulary: Vocabulary, batch: pa.RecordBatch) -> None:
        self._vocabulary, self._batch, self._rows = vocabulary, batch, len(batch)
        self._given = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
        default = vocabulary.schema.default_event_type
        if default is not None:
            self._given[EVENT_TYPE] = typed(self._given.get(EVENT_TYPE), default, self._rows)
        count = len(vocabulary.sources)
        self._values = np.zeros((self._rows, count), np.int64)
        self._present = np.zeros((self._rows, count), np.uint8)
        self._found: dict[int, tuple[Int64s, Int64s]] = {}
        self._lists: dict[str, tuple[Int64s, Int64s]] = {}

    def encoded(self) -> Encoded:
        sets = np.full(len(self._vocabulary.sources) + 1, -1, np.int32)
        for column, source in enumerate(self._vocabulary.sources):
            if source.column.kind.is_set:
                sets[column] = sets.max() + 1
            if source.column.kind in _PLAIN and not source.ranked and source.column.attribute in self._given:
                self._plain(column, source)
        self._from_side()
        ends = np.zeros((int(sets.max()) + 1, self._rows + 1), np.int64)
        pieces, base = [np.zeros(0, np.int64)], 0
        for column, (some_ends, keys) in self._found.items():
            ends[sets[column]] = some_ends + base
            pieces.append(keys)
            base += len(keys)
        return Encoded(self._values, self._present, sets, ends, np.concatenate(pieces))

    def _plain(self, column: int, source: Source) -> None:
        attribute, kind = source.column.attribute, source.column.kind
        values = self._given[attribute]
        if kind is Kind.VALUE:
            valid = np.asarray(pc.is_valid(values))
            self._values[:, column] = self._keys(attribute, values, np.arange(self._rows + 1))
            self._present[:, column] = valid
            return
        if attribute not in self._lists:
            self._lists[attribute] = self._sets(attribute, values)
        ends, keys = self._lists[attribute]
        if kind is Kind.VALUES:
            self._found[column] = ends, keys
            return
        some = ends[:-1] < ends[1:]
        self._present[:, column] = some
        self._values[some, column] = keys[ends[:-1][some] if kind is Kind.LEAST else ends[1:][some] - 1]

    def _sets(self, attribute: str, lists: pa.Array) -> tuple[Int64s, Int64s]:
        offsets = lists.offsets.to_numpy().astype(np.int64)
        flat = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
        starts, valid = offsets - offsets[0], np.asarray(pc.is_valid(lists))
        keys = self._keys(attribute, flat, starts)
        sizes = np.diff(starts)
        if sizes.max(initial=0) > 64:  # else sorted by insertion
            keys = keys[np.lexsort((keys, np.repeat(np.arange(len(sizes)), sizes)))]
        ends, out = np.empty(self._rows + 1, np.int64), np.empty(len(keys), np.int64)
        return ends, out[: sort_sets(starts, valid, keys, ends, out)]

    def _keys(self, attribute: str, values: pa.Array, starts: Int64s) -> Int64s:
        """The key of each value, arbitrary where there is none; row r has the values `starts[r]:starts[r + 1]`."""
        kind = self._vocabulary.schema.attributes[attribute].domain.kind
        if kind in ("integer", "timestamp"):
            return _words(values, np.int64)
        if kind == "boolean":
            return 2 * np.asarray(pc.fill_null(values, False)).astype(np.int64) + 1
        if kind == "float":
            floats = _words(values, np.float64)
            if (nan := np.flatnonzero(np.isnan(floats) & np.asarray(pc.is_valid(values)))).size:
                raise nan_refused(attribute, int(np.searchsorted(starts, nan[0], side="right")) - 1)
            return float_keys(floats)
        numbers = self._vocabulary.words_of(attribute).numbers(values)
        return numbers if kind == "string" else 2 * numbers + 1

    def _from_side(self) -> None:
        """Patterns, strings by order, and attribute against attribute: as the columnar engine encodes them."""
        side = self._vocabulary.side
        if side is None:
            return
        encoded = side.encode(self._batch)
        for column, source in enumerate(self._vocabulary.sources):
            if source.column.kind in _PLAIN and not source.ranked:
                continue
            number = side.number[source.column]
            if number < side.singles:
                codes = encoded.codes[:, number]
                self._values[:, column], self._present[:, column] = codes, codes != ABSENT
                continue
            ends = encoded.set_ends[number - side.singles]
            members = encoded.set_codes[ends[0] : ends[-1]].astype(np.int64)
            self._found[column] = ends - ends[0], members if source.ranked else members // 2


def _words(values: pa.Array, kind: type) -> npt.NDArray[Any]:
    """The eight-byte values of an Arrow array as they stand, whatever that is at nulls."""
    buffer = values.buffers()[1]
    if buffer is None or not len(values):
        return np.zeros(len(values), kind)
    return np.frombuffer(buffer, kind, len(values), 8 * values.offset)
