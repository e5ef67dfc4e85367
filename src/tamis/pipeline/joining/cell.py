"""One cell of the tables in a worker's memory: what it was told so far, and what the next batch does to contents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.errors import Violation
from tamis.joins.join_part import kept_tables, restore_tables, row_count
from tamis.joins.server import JoinServer
from tamis.pipeline.joining.cells import Cells
from tamis.pipeline.joining.packing import (
    DEAD,
    Admitted,
    Lateness,
    WaitingRoom,
    as_texts,
    dead_letters,
    from_blob,
    one_batch,
    said,
    tables_of,
    to_blob,
)
from tamis.pipeline.joining.row_changes import contents, row_changes
from tamis.pipeline.workers.reading import VIOLATION
from tamis.schema import Schema

_LEAST = 20_000  # events that may be logged whatever the tables' size


@dataclass(frozen=True, slots=True)
class Entry:
    """One step in the life of a cell: the events of a batch, and how its subscriptions changed; or all of it so far.

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
    """Output of a step: changes of contents (`CHANGES`), and events that tables refused (`DEAD`)."""

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
        """Serves these subscriptions, as far as they are the cell's, and no others."""
        if texts is self.texts:
            return
        gone = [id for id, text in self.texts.items() if texts.get(id) != text and id in self.server]
        new = {id: text for id, text in texts.items() if self.texts.get(id) != text}
        self.server.remove(gone)
        self.server.add(self.cells.of_subscriptions(new, self.schema).get(self.number, {}))
        self.texts = texts

    def replay(self, entry: Entry) -> None:
        """A step of the past, of which nobody is told."""
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
        """The events of a batch, in any number of packs. Subscriptions that are new are told of all they have."""
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
        """State that stands for all steps so far."""
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
        """True if what was logged is much more than what is there."""
        return self.logged > _LEAST and self.logged > 2 * row_count(self.server)

    def _news(self) -> tuple[dict[str, str], bytes | None]:
        """Subscriptions that are new to the cell, and what is to be known of them and of those that went."""
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
    """The events of all packs in order, with the numbers they are ordered by as the last column."""
    if not packs:
        return None
    table = pa.concat_tables([from_blob(pack) for pack in packs], promote_options="default")
    return table.take(pa.array(np.argsort(table.column(table.num_columns - 1).to_numpy(), kind="stable")))


def _parted(table: pa.Table) -> tuple[pa.RecordBatch | None, Int64s]:
    """Events, and the numbers they are ordered by; None if there are none."""
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
