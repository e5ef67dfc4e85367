"""Recording of a batch in one transaction, and once: pairs as a segment or as rows, dead letters, changes of joins, and
progress of the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection, delete
from sqlalchemy.dialects import postgresql, sqlite

from tamis.matchlog import built
from tamis.matchlog.segment import Content
from tamis.service.store import subscription as counters
from tamis.service.store.database import Database, StoreError, insert_rows, made_storable
from tamis.service.store.delivery_state import Reached, advance
from tamis.service.store.joins import JoinWrites, write
from tamis.service.store.segments import Prepared, Segments
from tamis.service.store.tables import BATCHES, DEAD_LETTERS, EVENTS, NOTIFICATIONS

# A stream repeats its newest batch after a crash, never one from far back.
_REMEMBERED = 1_000
_UTC = pa.timestamp("us", "UTC")
_TOLD = ("bindings", "changes")


def record(
    database: Database,
    segments: Segments,
    stream: str,
    batch: int,
    events: pa.Table,
    pairs: pa.Table,
    dead: pa.Table | None,
    reached: Reached | None,
    joins: JoinWrites | None = None,
    made: Sequence[Prepared] = (),
) -> bool:
    # Everything is made before the transaction begins, so that it is short.
    pairs, rows = _parted(pairs)
    prepared = [*made, *([segments.prepare(_content(events, pairs))] if pairs.num_rows else [])]
    positions = [*(one.named.first for one in made), *(one.named.last for one in made)]
    if len(events):
        positions += [pc.min(events["position"]).as_py(), pc.max(events["position"]).as_py()]
    told = events.filter(pc.is_in(events["position"], rows["position"].combine_chunks())) if rows.num_rows else rows
    pair_columns = ("position", "subscription", *(name for name in _TOLD if name in rows.column_names))
    pair_rows = zip(*(rows[name].to_pylist() for name in pair_columns), strict=True)
    letters = [] if dead is None else _letters(dead)
    try:
        with database.write() as connection:
            if not _marked(connection, stream, batch):
                segments.discard(*prepared)
                return False
            if reached is not None:
                advance(connection, reached)
            if positions:
                head = counters.locked(connection, "head")
                if min(positions) <= head:
                    raise StoreError(f"batch {batch} of {stream} has positions at or below the head, {head}")
                counters.put(connection, "head", max(positions))
            if joins is not None:
                write(connection, joins)
            segments.name(connection, *prepared)
            if rows.num_rows:
                insert_rows(connection, EVENTS, ("position", "id", "time", "body"), _event_rows(told))
                insert_rows(connection, NOTIFICATIONS, pair_columns, pair_rows)
            columns = ("kind", "subject", "owner", "reason", "body", "detail", "time")
            insert_rows(connection, DEAD_LETTERS, columns, letters)
    except BaseException:
        segments.discard(*prepared)
        raise
    return True


def _parted(pairs: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The pairs for the match log, and those that have more to say, which are rows."""
    told = [name for name in _TOLD if name in pairs.column_names and pairs[name].null_count < pairs.num_rows]
    if not told:
        return pairs, pairs.slice(0, 0)
    more = pc.is_valid(pairs[told[0]])
    for name in told[1:]:
        more = pc.or_(more, pc.is_valid(pairs[name]))
    # By subscription: the index over them is touched from one end to the other, and each of its pages once.
    rows = pairs.filter(more).sort_by([("subscription", "ascending"), ("position", "ascending")])
    return pairs.filter(pc.invert(more)), rows


def _content(events: pa.Table, pairs: pa.Table) -> Content:
    """A segment's content; its events are those that have any pair."""
    its = np.asarray(pairs["position"])
    if np.any(its[1:] < its[:-1]):
        pairs = pairs.sort_by("position")
        its = np.asarray(pairs["position"])
    positions, starts = np.unique(its, return_index=True)
    of = events.take(pa.array(np.searchsorted(np.asarray(events["position"]), positions))).combine_chunks()
    return built(
        positions,
        np.append(starts, len(its)).astype(np.int64),
        np.asarray(pairs["subscription"]),
        np.asarray(of["time"].cast(_UTC).cast(pa.int64())),
        *(pc.fill_null(_whole_column(of[name]), "") for name in ("id", "body")),
    )


def _whole_column(column: pa.ChunkedArray) -> pa.Array:
    whole = column.cast(pa.string()).combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)


def _event_rows(events: pa.Table) -> Iterable[tuple[object, ...]]:
    columns = (_texts(events["id"]), _moments(events["time"]), _texts(events["body"]))
    return zip(events["position"].to_pylist(), *columns, strict=True)


def _marked(connection: Connection, stream: str, batch: int) -> bool:
    """True if the batch is new; it is marked from now on."""
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
