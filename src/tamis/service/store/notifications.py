"""Notifications in the store: events with the subscriptions they matched, written batch by batch, read from any
position.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    and_,
    delete,
    exists,
    func,
    select,
    true,
    tuple_,
    type_coerce,
)
from sqlalchemy.dialects import postgresql, sqlite

from tamis.service.store import subscription as counters
from tamis.service.store.database import Database, StoreError, insert_rows, made_storable, pieces, within
from tamis.service.store.delivery_state import Reached, advance
from tamis.service.store.joins import JoinWrites, write
from tamis.service.store.tables import BATCHES, DEAD_LETTERS, EVENTS, NOTIFICATIONS, SUBSCRIPTIONS, moment

# One batch of matches, written whole or not at all.

# Remembered batches of a stream: it repeats its newest batch after a crash, never one from far back.
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
    """True if the batch is new; marks it as recorded."""
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


# Above this number of an owner's subscriptions, everybody's notifications are scanned.
_FEW = 5_000
# Pairs per transaction: short enough that concurrent writers do not notice.
_SWEPT = 10_000
_PAIRS = NOTIFICATIONS.c


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """Event that matched; `body` is its JSON text."""

    position: int
    id: str
    time: datetime
    body: str


@dataclass(frozen=True, slots=True)
class Notified:
    """Event that a subscription, by its number, is notified of; `bindings` and `changes` as in `Pair`."""

    position: int
    subscription: int
    event_id: str
    time: datetime
    body: str
    bindings: str | None = None
    changes: str | None = None
    notice: str | None = None


class Pair(NamedTuple):
    """Match: an event, by its position, and a subscription, by its number.

    `bindings` is a JSON object: what the variables of the filter were bound to; None if it has none. `changes` is a
    JSON list: what the event did to the content of a join; None for what is no join. `notice` is a JSON object with a
    `type`: a message about the subscription; None for a match.
    """

    position: int
    subscription: int
    bindings: str | None = None
    changes: str | None = None
    notice: str | None = None


class Notifications:
    """Matches as pairs of position and subscription number, and the events they speak of.

    Positions grow from batch to batch. Up to `head`, rows never change but by retention, so a reader who goes on after
    the last position it saw misses nothing and sees nothing twice.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(
        self,
        stream: str,
        batch: int,
        events: pa.Table,
        pairs: pa.Table,
        dead: pa.Table | None = None,
        reached: Reached | None = None,
        joins: JoinWrites | None = None,
    ) -> bool:
        """Writes a batch in one transaction; returns False, having written nothing, if the stream's batch is there
        already.

        `events`: position, id, time, body, of those that matched. `pairs`: position, subscription, perhaps bindings and
        changes. `dead`: offset, id, time, body, reason. Every position must be above `head`. `reached`: where the batch
        ends, on a shared log. `joins`: what it did to tables and contents.
        """
        return record(self._database, stream, batch, events, pairs, dead, reached, joins)

    def has(self, stream: str, batch: int) -> bool:
        """True if the stream's batch is recorded, among its newest."""
        its = select(BATCHES.c.batch).where(BATCHES.c.stream == stream, BATCHES.c.batch == batch)
        with self._database.read() as connection:
            return connection.execute(its).first() is not None

    def last_batch(self, stream: str) -> int | None:
        """Newest recorded batch of a stream."""
        newest = select(func.max(BATCHES.c.batch)).where(BATCHES.c.stream == stream)
        with self._database.read() as connection:
            found: int | None = connection.execute(newest).scalar_one()
            return found

    def head(self) -> int:
        """Newest position; 0 at first."""
        with self._database.read() as connection:
            return counters.value(connection, "head")

    def after(self, subscription: int, cursor: int, limit: int = 1_000) -> list[Notified]:
        """Notifications of a subscription after a position, oldest first."""
        wanted = _notified().where(_PAIRS.subscription == subscription, _PAIRS.position > within(cursor))
        with self._database.read() as connection:
            return [Notified(*row) for row in connection.execute(wanted.order_by(_PAIRS.position).limit(limit))]

    def before(self, subscription: int, cursor: int, limit: int = 1_000) -> list[Notified]:
        """Notifications of a subscription before a position, newest first."""
        wanted = _notified().where(_PAIRS.subscription == subscription, _PAIRS.position < within(cursor))
        with self._database.read() as connection:
            return [Notified(*row) for row in connection.execute(wanted.order_by(_PAIRS.position.desc()).limit(limit))]

    def of_owner_after(self, owner: str, cursor: int, limit: int = 1_000) -> list[Notified]:
        """Notifications of all an owner's subscriptions, by position and subscription.

        The notifications of one event stay together, since a cursor cannot point between them: that may make a few
        less than the limit, or, where one event alone has more, more.
        """
        its = and_(SUBSCRIPTIONS.c.number == _PAIRS.subscription, SUBSCRIPTIONS.c.owner == owner)
        with self._database.read() as connection:
            few = counters.counted(connection, owner, None) <= _FEW
            if few:
                numbers = select(SUBSCRIPTIONS.c.number).where(SUBSCRIPTIONS.c.owner == owner)
                wanted = _notified().where(_PAIRS.subscription.in_(numbers))
            else:
                wanted = _notified().where(select(SUBSCRIPTIONS.c.number).where(its).exists())
            wanted = wanted.order_by(_PAIRS.position, _PAIRS.subscription)
            rows = connection.execute(wanted.where(_PAIRS.position > within(cursor)).limit(limit + 1)).all()
            whole = _whole(rows, limit)
            if rows and not whole:
                whole = connection.execute(wanted.where(_PAIRS.position == rows[0].position)).all()
        return [Notified(*row) for row in whole]

    def since(self, position: int, upto: int, limit: int) -> list[Pair]:
        """Pairs of everybody, in order, after `position` and up to `upto`.

        The pairs of one event stay together, as in `of_owner_after`.
        """
        wanted = select(NOTIFICATIONS).order_by(_PAIRS.position, _PAIRS.subscription)
        span = wanted.where(_PAIRS.position > within(position), _PAIRS.position <= within(upto))
        with self._database.read() as connection:
            rows = connection.execute(span.limit(limit + 1)).all()
            whole = _whole(rows, limit)
            if rows and not whole:
                whole = connection.execute(wanted.where(_PAIRS.position == rows[0].position)).all()
        return [Pair(*row) for row in whole]

    def events(self, positions: Sequence[int]) -> dict[int, StoredEvent]:
        """Events at these positions that are still kept."""
        found: dict[int, StoredEvent] = {}
        with self._database.read() as connection:
            for some in pieces(positions):
                rows = connection.execute(select(EVENTS).where(EVENTS.c.position.in_(some)))
                found.update({row.position: StoredEvent(*row) for row in rows})
        return found

    def counts(self, subscription: int, since: datetime, bucket: timedelta) -> list[tuple[datetime, int]]:
        """Number of matches in each bucket that has any; buckets start at whole multiples of `bucket`."""
        width = bucket // timedelta(microseconds=1)
        start = (type_coerce(EVENTS.c.time, BigInteger) // width * width).label("start")
        wanted = (
            select(start, func.count())
            .join_from(NOTIFICATIONS, EVENTS, EVENTS.c.position == _PAIRS.position)
            .where(_PAIRS.subscription == subscription, EVENTS.c.time >= since)
            .where(_PAIRS.position.not_in(_notices(subscription)))
            .group_by("start")
            .order_by("start")
        )
        with self._database.read() as connection:
            return [(moment(int(row[0])), int(row[1])) for row in connection.execute(wanted)]

    def total(self, subscription: int) -> int:
        """Number of kept matches."""
        wanted = select(func.count()).select_from(NOTIFICATIONS).where(_PAIRS.subscription == subscription)
        others = select(func.count()).select_from(_notices(subscription).subquery())
        with self._database.read() as connection:
            return int(connection.execute(wanted).scalar_one()) - int(connection.execute(others).scalar_one())

    def sweep(self, before: datetime) -> int:
        """Removes notifications of events received before a moment, oldest first; returns how many.

        Positions grow with time but for the order within a batch, so it removes up to the first event that is to stay.
        """
        removed = 0
        while True:
            with self._database.write() as connection:
                some, more = _sweep_some(connection, before)
            removed += some
            if not more:
                return removed


def _notices(subscription: int) -> Select[Any]:
    """Positions at which a subscription has a message that is no match: a few, found by an index of their own."""
    return select(_PAIRS.position).where(_PAIRS.subscription == subscription, _PAIRS.notice.is_not(None))


def _notified() -> Select[Any]:
    event = (EVENTS.c.id, EVENTS.c.time, EVENTS.c.body)
    return select(
        _PAIRS.position, _PAIRS.subscription, *event, _PAIRS.bindings, _PAIRS.changes, _PAIRS.notice
    ).join_from(NOTIFICATIONS, EVENTS, EVENTS.c.position == _PAIRS.position)


def _whole(rows: Sequence[Any], limit: int) -> Sequence[Any]:
    """Events that are complete among rows read with a limit: not the last event of one row too many."""
    if len(rows) <= limit:
        return rows
    return [row for row in rows if row.position < rows[-1].position]


def _sweep_some(connection: Connection, before: datetime) -> tuple[int, bool]:
    """Sweeps some; returns the number of removed pairs, and True if there may be more."""
    oldest = select(_PAIRS.position, _PAIRS.subscription).order_by(_PAIRS.position, _PAIRS.subscription)
    last = connection.execute(oldest.offset(_SWEPT - 1).limit(1)).one_or_none()
    reached: ColumnElement[bool] = true() if last is None else EVENTS.c.position <= last.position
    staying = select(func.min(EVENTS.c.position)).where(reached, EVENTS.c.time >= before)
    first = connection.execute(staying).scalar_one()
    going = delete(NOTIFICATIONS)
    if first is not None:
        going, reached = going.where(_PAIRS.position < first), EVENTS.c.position < first
    elif last is not None:
        going = going.where(tuple_(_PAIRS.position, _PAIRS.subscription) <= tuple_(last.position, last.subscription))
    removed = connection.execute(going).rowcount
    # An event may have more pairs than go at once: it goes with the last of them.
    connection.execute(delete(EVENTS).where(reached, ~exists().where(_PAIRS.position == EVENTS.c.position)))
    return removed, first is None and last is not None
