"""Events in a broker: matching to hops, statistics for merging, the Arrow wire form, and bulky values taken out and
put back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.broker.messages import MessageError
from tamis.engine import compile
from tamis.matching.base.statistics import Statistics
from tamis.routing.payloads import payload_id
from tamis.schema import Schema

_BETWEEN: Final = "\x1f"  # hop and id; in neither of them


@dataclass(frozen=True, slots=True)
class Catch:
    """Matches of a batch for one hop: `places` of events, sorted, and the matching pairs (event, filter)."""

    hop: str
    places: Int64s
    pair_events: Int64s
    pair_filters: Int64s
    names: list[str]

    def matched(self) -> pa.Array:
        """For each place the ids of the filters that the event matches."""
        counts = np.diff(np.append(np.searchsorted(self.pair_events, self.places), len(self.pair_events)))
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        ids = pa.array([name.partition(_BETWEEN)[2] for name in self.names], pa.string())
        return pa.ListArray.from_arrays(offsets, ids.take(pa.array(self.pair_filters)))


class Sieve:
    """Index over the filters of every hop, neighbours and clients alike: the publication routing table, compiled."""

    def __init__(self, schema: Schema) -> None:
        self._index = compile({}, schema)

    def add(self, hop: str, filters: Mapping[str, str]) -> None:
        """Adds filters of a hop, under ids that it does not have yet."""
        if filters:
            self._index.add({f"{hop}{_BETWEEN}{id}": text for id, text in filters.items()})

    def remove(self, hop: str, ids: Iterable[str]) -> None:
        if names := [f"{hop}{_BETWEEN}{id}" for id in ids]:
            self._index.remove(names)

    def __len__(self) -> int:
        return len(self._index)

    def sift(self, events: pa.RecordBatch, source: str | None = None) -> list[Catch]:
        """Matches events and assigns them to hops; nothing goes back to the source."""
        matches = self._index.match(events)
        if not len(matches):
            return []
        used, filters = np.unique(matches.numbers, return_inverse=True)
        names: list[str] = matches.ids(used).to_pylist()
        hops = [name.partition(_BETWEEN)[0] for name in names]
        codes = {hop: code for code, hop in enumerate(sorted(set(hops)))}
        hop_of_filter = np.array([codes[hop] for hop in hops], np.int64)
        rows = np.repeat(np.arange(matches.events, dtype=np.int64), matches.counts)
        hop_of_pair = hop_of_filter[filters]
        order = np.lexsort((filters, rows, hop_of_pair))
        rows, filters, hop_of_pair = rows[order], filters[order], hop_of_pair[order]
        cuts = np.searchsorted(hop_of_pair, np.arange(len(codes) + 1))
        return [
            Catch(
                hop,
                np.unique(rows[cuts[code] : cuts[code + 1]]),
                rows[cuts[code] : cuts[code + 1]],
                filters[cuts[code] : cuts[code + 1]],
                names,
            )
            for hop, code in codes.items()
            if hop != source
        ]


# Statistics of passing events, by which merging decides.

_FIRST: Final = 500
_SAMPLE: Final = 5_000
_WIDE: Final = 256  # bytes a value: a column of such is not compared by much, and dear to count


class Observed:
    """Sample of the newest events that passed; statistics are due after the first 500, and then ever more rarely."""

    def __init__(self) -> None:
        self._batches: deque[pa.RecordBatch] = deque()
        self._held = self._since = 0
        self._wanted = _FIRST

    def take(self, events: pa.RecordBatch) -> None:
        self._batches.append(events.slice(0, _SAMPLE))
        self._held += min(events.num_rows, _SAMPLE)
        self._since += events.num_rows
        while self._held - self._batches[0].num_rows >= _SAMPLE:
            self._held -= self._batches.popleft().num_rows

    def due(self) -> Statistics | None:
        """Statistics of the newest events, if they are due; else None."""
        if self._since < self._wanted:
            return None
        self._since, self._wanted = 0, min(10 * self._wanted, 10 * _SAMPLE)
        return self.statistics()

    def statistics(self) -> Statistics:
        """Statistics of the newest events."""
        return Statistics.from_events(pa.concat_tables(map(_narrow, self._batches), promote_options="default"))


def _narrow(batch: pa.RecordBatch) -> pa.Table:
    names = zip(batch.schema.names, batch.columns, strict=True)
    kept = {name: column for name, column in names if column.nbytes <= _WIDE * max(1, len(column))}
    return pa.table(kept) if kept else pa.table({"tamis:none": pa.nulls(batch.num_rows)})


# Wire form: an Arrow IPC stream, with each event's row, matches and payload places in columns of their own.

# Bulky values are taken out so that they can travel by name, and put back at the other end.

PLACES: Final = "tamis:payloads"
_PLACE: Final = pa.struct([("attribute", pa.string()), ("id", pa.binary())])
_BULKY: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


@dataclass(frozen=True, slots=True)
class SlimEvents:
    """Events without their bulky values, and these values by name; a column of the events says where they belong."""

    events: pa.RecordBatch
    contents: dict[bytes, bytes]


def take_out(events: pa.RecordBatch, least: int, most: int) -> SlimEvents:
    """Takes out texts and bytes of `least` to `most` bytes; equal values are taken once."""
    contents: dict[bytes, bytes] = {}
    places: list[list[dict[str, object]]] = [[] for _ in range(events.num_rows)]
    columns = list(events.columns)
    for number, (name, column) in enumerate(zip(events.schema.names, events.columns, strict=True)):
        if not any(is_kind(column.type) for is_kind in _BULKY):
            continue
        lengths = np.asarray(pc.fill_null(pc.binary_length(column), 0))
        bulky = (lengths >= least) & (lengths <= most)
        if not bulky.any():
            continue
        for row in np.flatnonzero(bulky).tolist():
            value = column[row].as_py()
            content = value.encode() if isinstance(value, str) else value
            id = payload_id(content)
            contents[id] = content
            places[row].append({"attribute": name, "id": id})
        # Not if_else: it leaves the bytes where they were, under a null.
        columns[number] = pc.replace_with_mask(column, pa.array(bulky), pa.scalar(None, column.type))
    if not contents:
        return SlimEvents(events, {})
    made = [*columns, pa.array(places, pa.list_(_PLACE))]
    return SlimEvents(pa.RecordBatch.from_arrays(made, [*events.schema.names, PLACES]), contents)


def put_back(events: pa.RecordBatch, contents: Mapping[bytes, bytes]) -> pa.RecordBatch:
    """Events with their bulky values again; MessageError if the column of places is invalid."""
    names = events.schema.names
    if PLACES not in names:
        return events
    places = events.column(names.index(PLACES))
    if places.type != pa.list_(_PLACE):
        raise MessageError("the events of this message do not say where their values belong")
    columns = {name: events.column(place) for place, name in enumerate(names) if name != PLACES}
    values: dict[str, dict[int, bytes]] = {}
    for row, found in enumerate(places.to_pylist()):
        for place in found or ():
            if place["attribute"] not in columns or place["id"] not in contents:
                raise MessageError("the events of this message lack a value")
            values.setdefault(place["attribute"], {})[row] = contents[place["id"]]
    for name, rows in values.items():
        kind = columns[name].type
        if not any(is_kind(kind) for is_kind in _BULKY):
            raise MessageError(f"{name!r} holds no texts or bytes")
        try:
            put = pa.array([rows.get(row) for row in range(events.num_rows)], pa.large_binary()).cast(kind)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise MessageError(f"a value of {name!r} is no {kind}: {error}") from error
        columns[name] = pc.coalesce(put, columns[name])
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


# Names of these columns have a colon, which no attribute's name has.
_ROW: Final = "tamis:row"
_MATCHED: Final = "tamis:subscriptions"


@dataclass(frozen=True, slots=True)
class Carried:
    """Events on the wire: each with its row in the published batch, and for clients the subscriptions it matches."""

    events: pa.RecordBatch
    rows: pa.Array
    matched: pa.Array | None = None

    def taken(self, places: Int64s, matched: pa.Array | None = None) -> Carried:
        """Selection of the events."""
        if len(places) == self.events.num_rows:  # places are sorted and differ, so these are all
            return Carried(self.events, self.rows, matched)
        chosen = pa.array(places)
        return Carried(self.events.take(chosen), self.rows.take(chosen), matched)


def published(events: pa.RecordBatch) -> Carried:
    """Wire form of newly published events."""
    return Carried(events, pa.array(np.arange(events.num_rows, dtype=np.int32)))


def pack(carried: Carried) -> bytes:
    """Bytes of events on the wire."""
    arrays, names = [*carried.events.columns, carried.rows], [*carried.events.schema.names, _ROW]
    if carried.matched is not None:
        arrays, names = [*arrays, carried.matched], [*names, _MATCHED]
    return write_events(pa.RecordBatch.from_arrays(arrays, names))


def unpack(data: bytes, contents: Mapping[bytes, bytes] | None = None) -> Carried:
    """Events from bytes, with the values that were taken out; MessageError if the bytes are no events."""
    batch = put_back(read_events(data), contents or {})
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    rows, matched = columns.pop(_ROW, None), columns.pop(_MATCHED, None)
    if rows is None or rows.type != pa.int32():
        raise MessageError("the events of this message do not say which they are")
    if matched is not None and matched.type != pa.list_(pa.string()):
        raise MessageError("the events of this message do not say what they satisfy")
    return Carried(batch.select([n for n in batch.schema.names if n not in (_ROW, _MATCHED)]), rows, matched)


def write_events(batch: pa.RecordBatch) -> bytes:
    """Batch as bytes of an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def read_events(data: bytes) -> pa.RecordBatch:
    """Single batch of an Arrow IPC stream, every buffer validated; MessageError if the bytes are not that."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
            batches: list[Any] = list(stream)
            if len(batches) != 1 or len(set(stream.schema.names)) != len(stream.schema.names):
                raise MessageError("events come as one batch with different columns")
            batches[0].validate(full=True)
            return batches[0]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise MessageError(f"these are no events in Arrow's form: {error}") from error


# Deliveries: events as a client gets them.


@dataclass(frozen=True, slots=True)
class Delivered:
    """Delivery of events: an Arrow batch, and for each event the ids of the subscriptions it matches.

    `origin`, `epoch`, `number` and `rows` name each event in the whole network, the same at every client.
    """

    events: pa.RecordBatch
    subscriptions: pa.Array
    origin: str
    epoch: str
    number: int
    rows: pa.Array

    def to_pylist(self) -> list[tuple[dict[str, Any], list[str]]]:
        """For each event its attributes, and the ids of the subscriptions it matches."""
        told = [
            {name: value for name, value in event.items() if value is not None} for event in self.events.to_pylist()
        ]
        return list(zip(told, self.subscriptions.to_pylist(), strict=True))
