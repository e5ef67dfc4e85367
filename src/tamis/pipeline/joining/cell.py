"""Cell: tables and subscriptions of one state group in a worker's memory, and its log of entries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.errors import Violation
from tamis.joins.arrivals import Showing, Shown
from tamis.joins.join_part import kept_tables, restore_tables, row_count
from tamis.joins.server import Applied, JoinServer
from tamis.language.joins import parse_join
from tamis.pipeline.joining.cells import Cells
from tamis.pipeline.joining.packing import (
    DEAD,
    ORDER,
    Admitted,
    Lateness,
    WaitingRoom,
    as_texts,
    dead_letters,
    from_blob,
    json_texts,
    one_batch,
    said,
    tables_of,
    to_blob,
)
from tamis.pipeline.workers.inputs import VIOLATION
from tamis.schema import Schema

# Changes of contents as rows: subscription, added or removed, the result as JSON, and the event that caused it.

CHANGES = pa.schema(
    [
        ("subscription", pa.string()),
        ("change", pa.string()),
        ("row", pa.string()),
        (ORDER, pa.int64()),
        ("nth", pa.int32()),
    ]
)
_UNNUMBERED = pa.schema(list(CHANGES)[:4])
ADDED = "added"

_ROWS = 20_000  # at a time: Spark takes some while the next are made
_BATCH = pa.field("batch", pa.int64())
_CHANGES = pa.schema([_BATCH, *CHANGES])
_ALL = pa.schema([*_CHANGES, *(field for field in DEAD if field.name not in CHANGES.names)])


def row_changes(server: JoinServer, applied: Applied, order: Int64s, without: Mapping[str, object]) -> pa.Table:
    """Changes of a batch, without those of excluded subscriptions. `order` has the numbers of the batch's events."""
    tables = []
    for told in server.results(applied).tables:
        kept = told
        if without:
            kept = told.filter(pc.invert(pc.is_in(told["subscription"].cast(pa.string()), pa.array(list(without)))))
        texts = json_texts(kept["row"].combine_chunks())
        columns = [kept["subscription"], kept["change"], texts, pa.array(order[kept["event"].to_numpy()])]
        tables.append(pa.table(columns, names=_UNNUMBERED.names).cast(_UNNUMBERED))
    return numbered(tables)


def contents(server: JoinServer, ids: Iterable[str], order: int | None) -> pa.Table:
    """Content of subscriptions, as added rows."""
    tables = []
    for id in ids:
        rows = server.content(id)
        if rows:
            tables.append(_table(id, ADDED, rows, order, server))
    return numbered(tables)


def numbered(tables: list[pa.Table]) -> pa.Table:
    """Concatenates the tables and numbers equal changes, so that they can be told apart."""
    table = pa.concat_tables(tables).combine_chunks() if tables else CHANGES.empty_table()
    if not table.num_rows:
        return CHANGES.empty_table()
    codes = [table[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in CHANGES.names[:3]]
    alike = codes[0].astype(np.int64) * (int(codes[2].max()) + 1) * 2 + codes[2].astype(np.int64) * 2 + codes[1]
    nth = np.zeros(len(alike), np.int32)
    if len(np.unique(alike)) < len(alike):
        sequence = table[ORDER].fill_null(-1).to_numpy()
        by = np.lexsort((sequence, alike))
        begins = np.ones(len(by), np.bool_)
        begins[1:] = (np.diff(alike[by]) != 0) | (np.diff(sequence[by]) != 0)
        first = np.maximum.accumulate(np.where(begins, np.arange(len(by)), 0))
        nth[by] = np.arange(len(by)) - first
    return table.append_column(CHANGES.field("nth"), pa.array(nth))


def _table(id: str, change: str, rows: list[Shown], order: int | None, server: JoinServer) -> pa.Table:
    texts = json_texts(_structs(rows, server.text(id), server.schema))
    columns = [
        pa.array([id] * len(rows), pa.string()),
        pa.array([change] * len(rows), pa.string()),
        texts,
        pa.array([order] * len(rows), pa.int64()),
    ]
    return pa.Table.from_arrays(columns, schema=_UNNUMBERED)


def _structs(rows: list[Shown], text: str, schema: Schema) -> pa.StructArray:
    join = parse_join(text, schema)
    labels = Showing(join.signature, join.columns, schema).labels
    return pa.array(
        rows, pa.struct([(label, schema.attributes[name].arrow_type) for label, (_, name) in labels.items()])
    )


@dataclass(frozen=True, slots=True)
class Unpacker:
    """Unpacks answers into rows of changes, or with `dead` of dead letters too; a row has nulls where the other has its
    columns.
    """

    dead: bool

    @property
    def columns(self) -> pa.Schema:
        """Schema of the rows."""
        return _ALL if self.dead else _CHANGES

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, changes, dead in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                for blob in (changes, dead if self.dead else None):
                    if blob is not None:
                        yield from self._rows(from_blob(blob), number)

    def _rows(self, table: pa.Table, number: int) -> Iterator[pa.RecordBatch]:
        for piece in table.to_batches(max_chunksize=_ROWS):
            there = {_BATCH.name: pa.repeat(pa.scalar(number, pa.int64()), piece.num_rows)}
            there |= dict(zip(piece.schema.names, piece.columns, strict=True))
            arrays = [
                there[field.name] if field.name in there else pa.nulls(piece.num_rows, field.type)
                for field in self.columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.columns)


_LEAST = 20_000  # events that may be logged whatever the tables' size


@dataclass(frozen=True, slots=True)
class Entry:
    """Entry of a cell's log: the events of a batch, and changes of its subscriptions; or a summary of all entries so
    far.

    The cell is what its entries make of it, one after the other, so they are all that has to be kept. `known` has the
    ids that came, with a digest of the text, null for those that went. `clock` is the greatest time in the batch, where
    events may wait. If the entry stands for all before it, `events` are the tables' rows, `waiting` is what waits, and
    `whole` says the rest in JSON: the greatest time that each table with a window has seen, the clock, times of events.
    """

    events: bytes | None
    known: bytes | None
    clock: int | None = None
    waiting: bytes | None = None
    whole: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """Output of a step: changes of contents (`CHANGES`), and refused events (`DEAD`)."""

    changes: pa.Table
    dead: pa.Table


@dataclass(slots=True)
class Cell:
    """Tables and subscriptions of one cell."""

    cells: Cells
    number: int
    schema: Schema
    texts: Mapping[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    lateness: Lateness | None = None
    logged: int = 0
    met: Mapping[str, str] | None = None
    server: JoinServer = field(init=False)
    room: WaitingRoom | None = field(init=False)

    def __post_init__(self) -> None:
        self.server = JoinServer(self.schema)
        self.room = None if self.lateness is None else WaitingRoom(self.lateness)

    def follow(self, texts: Mapping[str, str]) -> None:
        """Sets the cell's subscriptions to those of these that belong to it."""
        if texts is self.texts:
            return
        gone = [id for id, text in self.texts.items() if texts.get(id) != text and id in self.server]
        new = {id: text for id, text in texts.items() if self.texts.get(id) != text}
        self.server.remove(gone)
        self.server.add(self.cells.of_subscriptions(new, self.schema).get(self.number, {}))
        self.texts = texts

    def replay(self, entry: Entry) -> None:
        """Applies an entry of the past, without output."""
        if entry.whole is not None:
            told = json.loads(entry.whole)
            restore_tables(self.server, one_batch(from_blob(entry.events or b"")), told["latest"])
            if self.room is not None:
                waiting = None if entry.waiting is None else from_blob(entry.waiting)
                self.room.restore(waiting, told["times"], told["clock"])
            self.logged = 0
        else:
            arrived = None if entry.events is None else from_blob(entry.events)
            events, _ = _parted(self._admitted(arrived, entry.clock).due)
            if events is not None:
                self.server.follow(events)
            self.logged += 0 if arrived is None else arrived.num_rows
        self._learn(entry.known)

    def step(self, packs: list[bytes], clock: int | None = None) -> tuple[Entry, Told]:
        """Applies the events of a batch, in any number of packs. New subscriptions output their whole content."""
        fresh, known = self._news()
        arrived = _together(packs)
        self.logged += 0 if arrived is None else arrived.num_rows
        entry = Entry(None if arrived is None else to_blob(arrived), known, clock)
        admitted = self._admitted(arrived, clock)
        late = self._late(admitted)
        events, order = _parted(admitted.due)
        if events is None:
            return entry, Told(contents(self.server, fresh, None), late)
        applied = self.server.apply(events)
        changes = row_changes(self.server, applied, order, fresh)
        if fresh:
            changes = pa.concat_tables([changes, contents(self.server, fresh, int(order[-1]))])
        return entry, Told(changes, pa.concat_tables([late, self._dead(applied.refused, events, order)]))

    def whole(self) -> Entry:
        """Summary entry that stands for all steps so far."""
        rows, latest = kept_tables(self.server)
        self.logged = 0
        told: dict[str, object] = {"latest": latest}
        waiting = None
        if self.room is not None:
            told |= {"clock": self.room.clock, "times": self.room.waiting_times}
            waiting = None if self.room.waiting is None else to_blob(self.room.waiting)
        return Entry(to_blob(rows), _known(self.known), None, waiting, json.dumps(told))

    @property
    def bloated(self) -> bool:
        """True if the log is much larger than the state."""
        return self.logged > _LEAST and self.logged > 2 * row_count(self.server)

    def _news(self) -> tuple[dict[str, str], bytes | None]:
        """Subscriptions that are new to the cell, and the record of them and of removed ones."""
        if self.met is self.texts:
            return {}, None
        self.met = self.texts
        served = {id: _digest(self.server.text(id)) for id in self.server.ids()}
        fresh = {id: digest for id, digest in served.items() if self.known.get(id) != digest}
        gone = [id for id in self.known if id not in served]
        known = _known({**fresh, **dict.fromkeys(gone)}) if fresh or gone else None
        self._learn(known)
        return fresh, known

    def _admitted(self, arrived: pa.Table | None, clock: int | None) -> Admitted:
        if self.room is not None:
            return self.room.admit(arrived, clock)
        nothing = pa.table({})
        return Admitted(nothing if arrived is None else arrived, nothing, None)

    def _late(self, admitted: Admitted) -> pa.Table:
        events, order = _parted(admitted.late)
        if events is None:
            return DEAD.empty_table()
        why = f"the event is late: all up to {said(admitted.watermark)} are done with"
        by = "" if self.lateness is None else self.lateness.by
        return self._dead([Violation(row, by, "table", None, why) for row in range(len(order))], events, order)

    def _dead(self, refused: Sequence[Violation], events: pa.RecordBatch, order: Int64s) -> pa.Table:
        names = list(self.schema.tables)
        tables = tables_of(events, self.schema)
        spoken_for = [one for one in refused if self.cells.speaks_for(self.number, names[tables[one.event]])]
        rows = np.array([one.event for one in spoken_for], np.int64)
        wrong = [
            [{"attribute": one.attribute, "rule": one.rule, "value": None, "message": one.message}]
            for one in spoken_for
        ]
        return dead_letters(as_texts(events.take(pa.array(rows))), pa.array(wrong, pa.list_(VIOLATION)), order[rows])

    def _learn(self, known: bytes | None) -> None:
        if known is None:
            return
        for row in from_blob(known).to_pylist():
            if row["digest"] is None:
                self.known.pop(row["id"], None)
            else:
                self.known[row["id"]] = row["digest"]


def _together(packs: list[bytes]) -> pa.Table | None:
    """Events of all packs in order, with their order numbers as the last column."""
    if not packs:
        return None
    table = pa.concat_tables([from_blob(pack) for pack in packs], promote_options="default")
    return table.take(pa.array(np.argsort(table.column(table.num_columns - 1).to_numpy(), kind="stable")))


def _parted(table: pa.Table) -> tuple[pa.RecordBatch | None, Int64s]:
    """Events and their order numbers; None if there are none."""
    if not table.num_rows:
        return None, np.zeros(0, np.int64)
    events = one_batch(table)
    return events.select(range(events.num_columns - 1)), events.column(events.num_columns - 1).to_numpy()


def _known(ids: Mapping[str, str | None]) -> bytes:
    return to_blob(
        pa.table({"id": pa.array(list(ids), pa.string()), "digest": pa.array(list(ids.values()), pa.string())})
    )


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
