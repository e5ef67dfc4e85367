"""One batch of matches, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection, delete
from sqlalchemy.dialects import postgresql, sqlite

from tamis.service.store import counters
from tamis.service.store.bulk import insert_rows
from tamis.service.store.database import Database
from tamis.service.store.errors import StoreError
from tamis.service.store.joins import JoinWrites, write
from tamis.service.store.progress import Reached, advance
from tamis.service.store.storable import made_storable
from tamis.service.store.tables import BATCHES, DEAD_LETTERS, EVENTS, NOTIFICATIONS

# A stream repeats its newest batch after a crash, never one from far back.
_REMEMBERED = 1_000
_UTC = pa.timestamp("us", "UTC")
_TOLD = ("bindings", "changes")


def record(
    database: Database,
    stream: str,
    batch: int,
    events: pa.Table,
    pairs: pa.Table,
    dead: pa.Table | None,
    reached: Reached | None,
    joins: JoinWrites | None = None,
) -> bool:
    # Everything is turned into rows before the transaction begins, so that it is short.
    event_rows = zip(
        events["position"].to_pylist(),
        _texts(events["id"]),
        _moments(events["time"]),
        _texts(events["body"]),
        strict=True,
    )
    # By subscription: the index over them is touched from one end to the other, and each of its pages once.
    pairs = pairs.sort_by([("subscription", "ascending"), ("position", "ascending")])
    pair_columns = ("position", "subscription", *(name for name in _TOLD if name in pairs.column_names))
    pair_rows = zip(*(pairs[name].to_pylist() for name in pair_columns), strict=True)
    letters = [] if dead is None else _letters(dead)
    with database.write() as connection:
        if not _marked(connection, stream, batch):
            return False
        if reached is not None:
            advance(connection, reached)
        if len(events):
            head = counters.locked(connection, "head")
            if pc.min(events["position"]).as_py() <= head:
                raise StoreError(f"batch {batch} of {stream} has positions at or below the head, {head}")
            counters.put(connection, "head", pc.max(events["position"]).as_py())
        if joins is not None:
            write(connection, joins)
        insert_rows(connection, EVENTS, ("position", "id", "time", "body"), event_rows)
        insert_rows(connection, NOTIFICATIONS, pair_columns, pair_rows)
        columns = ("kind", "subject", "owner", "reason", "body", "detail", "time")
        insert_rows(connection, DEAD_LETTERS, columns, letters)
    return True


def _marked(connection: Connection, stream: str, batch: int) -> bool:
    """Whether the batch is new; it is marked from now on."""
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    marking = insert(BATCHES).values(stream=stream, batch=batch).on_conflict_do_nothing()
    if connection.execute(marking.returning(BATCHES.c.batch)).one_or_none() is None:
        return False
    old = (BATCHES.c.stream == stream, BATCHES.c.batch < batch - _REMEMBERED)
    connection.execute(delete(BATCHES).where(*old))
    return True


def _letters(dead: pa.Table) -> list[tuple[object, ...]]:
    offsets = dead["offset"].to_pylist()
    fields = (_texts(dead[name]) for name in ("id", "reason", "body"))
    return [
        ("event", id, "", reason, body, json.dumps({"offset": offset}), time)
        for offset, id, reason, body, time in zip(offsets, *fields, _moments(dead["time"]), strict=True)
    ]


def _texts(column: pa.ChunkedArray) -> Iterable[str]:
    return [made_storable(text or "") for text in column.to_pylist()]


def _moments(column: pa.ChunkedArray) -> Iterable[int]:
    return column.cast(_UTC).cast(pa.int64()).to_pylist()
