"""From the rows that Spark hands a worker to events: as they are, or checked, or parsed and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.schema import Schema

VIOLATION = pa.struct(
    [pa.field(name, pa.string()) for name in ("attribute", "rule", "value", "message")],
)


@dataclass(frozen=True, slots=True)
class Read:
    """The events of a batch: event i is row `rows[i]`, ascending. Every other row is dead, and `violations` says why
    (a list a row, null for rows that are events); without a check it is None and all rows are events."""

    events: pa.RecordBatch
    rows: npt.NDArray[np.int64]
    violations: pa.ListArray | None

    @property
    def dead(self) -> npt.NDArray[np.int64]:
        """The other rows."""
        if self.violations is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(np.asarray(self.violations.is_valid()))


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads events out of Spark's rows. `places` are the columns that hold attributes, `names` what they are called;
    with `json` there is one, of JSON texts."""

    schema: Schema
    places: tuple[int, ...]
    names: tuple[str, ...]
    check: bool
    json: bool = False
    ignore_unknown: bool = False
    judged: bool = False

    def read(self, batch: pa.RecordBatch) -> Read:
        if self.json:
            texts = batch.column(self.places[0])
            checked = self.schema.check_json(texts, ignore_unknown=self.ignore_unknown, judged=self.judged)
        else:
            events = pa.RecordBatch.from_arrays([batch.column(place) for place in self.places], list(self.names))
            if not self.check:
                return Read(events, np.arange(batch.num_rows), None)
            # Columns that are no attributes are not among those read; what a struct holds besides is passed over.
            checked = self.schema.check(events, ignore_unknown=True)
        return Read(checked.valid, np.asarray(checked.valid_rows), _by_row(checked.violations, batch.num_rows))


def canonical(schema: Schema, events: pa.RecordBatch) -> list[pa.Array]:
    """A column for every attribute of the schema: attributes that no event has come as nulls."""
    return [
        events.column(field.name) if field.name in events.schema.names else pa.nulls(events.num_rows, field.type)
        for field in schema.arrow_schema
    ]


def in_rows(columns: Sequence[pa.Array], rows: npt.NDArray[np.int64], count: int) -> list[pa.Array]:
    """The columns put into `count` rows: value i into row `rows[i]`, null into the others."""
    if len(rows) == count:
        return list(columns)
    places = np.full(count, -1, np.int64)
    places[rows] = np.arange(len(rows))
    indices = pa.array(places, mask=places < 0)
    return [column.take(indices) for column in columns]


def _by_row(violations: pa.Table, count: int) -> pa.ListArray:
    counts = np.bincount(np.asarray(violations["event"], np.int64), minlength=count)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(np.int32)
    order = pa.array(np.argsort(np.asarray(violations["event"]), kind="stable"))
    fields = [violations[field.name].take(order).combine_chunks() for field in VIOLATION]
    values = pa.StructArray.from_arrays(fields, fields=list(VIOLATION))
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(counts == 0))


# How many events to take at a time, so that their matches fit into memory whatever their number.

_FIRST = 1_000
_LEAST = 16


class Pace:
    """Learns how many matches an event has, and takes as many events as have about `matches` of them."""

    def __init__(self, matches: int) -> None:
        self._aim = matches
        self._rows = _FIRST

    def saw(self, events: int, matches: int) -> None:
        """So many events had so many matches."""
        if events:
            # At most fourfold at a time: the next events may match more.
            self._rows = max(_LEAST, min(4 * self._rows, self._aim * events // max(1, matches)))

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The batch in slices, each as long as seems right when it is asked for."""
        at = 0
        while at < batch.num_rows:
            piece = batch.slice(at, self._rows)
            at += piece.num_rows
            yield piece

    def rounds(self, batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
        """Slices of batches put together until there are enough events for a round."""
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            for piece in self.pieces(batch):
                waiting.append(piece)
                if sum(piece.num_rows for piece in waiting) >= self._rows:
                    yield waiting
                    waiting = []
        if waiting:
            yield waiting
