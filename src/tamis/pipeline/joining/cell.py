"""One cell of the tables in a worker's memory: what it was told so far, and what the next batch does to contents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from tamis.errors import Violation
from tamis.joins.server import JoinServer
from tamis.joins.tables_kept import kept_tables, restore_tables, row_count
from tamis.pipeline.joining.blobs import from_blob, one_batch, to_blob
from tamis.pipeline.joining.cells import Cells, Integers
from tamis.pipeline.joining.packing import DEAD, as_texts, dead_letters, tables_of
from tamis.pipeline.joining.row_changes import contents, row_changes
from tamis.pipeline.workers.reading import VIOLATION
from tamis.schema import Schema

_LEAST = 20_000  # events that may be logged whatever the tables' size


@dataclass(frozen=True, slots=True)
class Entry:
    """One step in the life of a cell: the events of a batch, and how its subscriptions changed; or all of it so far.

    The cell is what its entries make of it, one after the other, so they are all that has to be kept. `known` has the
    ids that came, with a digest of the text, null for those that went. `latest` is there if this stands for all
    entries before it: the greatest time that each table with a window has seen.
    """

    events: bytes | None
    known: bytes | None
    latest: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a step did: changes of contents (`CHANGES`), and events that tables refused (`DEAD`)."""

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
    logged: int = 0
    server: JoinServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = JoinServer(self.schema)

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
        if entry.latest is not None:
            restore_tables(self.server, _events(entry.events), json.loads(entry.latest))
            self.logged = 0
        elif entry.events is not None:
            events = _events(entry.events)
            self.server.apply(events)
            self.logged += events.num_rows
        self._learn(entry.known)

    def step(self, packs: list[bytes]) -> tuple[Entry, Told]:
        """The events of a batch, in any number of packs. Subscriptions that are new are told of all they have."""
        fresh = {
            id: digest for id in self.server.ids() if self.known.get(id) != (digest := _digest(self.server.text(id)))
        }
        gone = [id for id in self.known if id not in self.server]
        known = _known({**fresh, **dict.fromkeys(gone)}) if fresh or gone else None
        self._learn(known)
        events, order = _ordered(packs)
        if events is None:
            return Entry(None, known), Told(contents(self.server, fresh, None), DEAD.empty_table())
        self.logged += events.num_rows
        applied = self.server.apply(events)
        changes = row_changes(self.server, applied, order, fresh)
        if fresh:
            changes = pa.concat_tables([changes, contents(self.server, fresh, int(order[-1]))])
        return Entry(to_blob(events), known), Told(changes, self._dead(applied.refused, events, order))

    def whole(self) -> Entry:
        """What stands for all steps so far."""
        rows, latest = kept_tables(self.server)
        self.logged = 0
        return Entry(to_blob(rows), _known(self.known), json.dumps(latest))

    @property
    def bloated(self) -> bool:
        """Whether what was logged is much more than what is there."""
        return self.logged > _LEAST and self.logged > 2 * row_count(self.server)

    def _dead(self, refused: Sequence[Violation], events: pa.RecordBatch, order: Integers) -> pa.Table:
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


def _ordered(packs: list[bytes]) -> tuple[pa.RecordBatch | None, Integers]:
    """The events of all packs in order, and the numbers they are ordered by."""
    if not packs:
        return None, np.zeros(0, np.int64)
    table = pa.concat_tables([from_blob(pack) for pack in packs], promote_options="default")
    order = table.column(table.num_columns - 1).to_numpy()
    places = np.argsort(order, kind="stable")
    events = one_batch(table.take(pa.array(places)))
    return events.select(range(events.num_columns - 1)), order[places]


def _events(blob: bytes | None) -> pa.RecordBatch:
    assert blob is not None
    return one_batch(from_blob(blob))


def _known(ids: Mapping[str, str | None]) -> bytes:
    return to_blob(
        pa.table({"id": pa.array(list(ids), pa.string()), "digest": pa.array(list(ids.values()), pa.string())})
    )


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
