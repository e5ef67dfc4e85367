"""Notifications: which events matched which subscriptions, written batch by batch and read from any place on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa
from sqlalchemy import BigInteger, Select, and_, func, select, type_coerce

from tamis.service.store import counters
from tamis.service.store.counters import counted
from tamis.service.store.database import Database
from tamis.service.store.in_pieces import pieces
from tamis.service.store.joins import JoinWrites
from tamis.service.store.moments import moment
from tamis.service.store.progress import Reached
from tamis.service.store.recording import record
from tamis.service.store.retention import sweep
from tamis.service.store.storable import within
from tamis.service.store.tables import BATCHES, EVENTS, NOTIFICATIONS, SUBSCRIPTIONS

# An owner with more subscriptions than this is served by going through everybody's notifications.
_FEW = 5_000
_PAIRS = NOTIFICATIONS.c


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event that matched; `body` is its JSON text."""

    position: int
    id: str
    time: datetime
    body: str


@dataclass(frozen=True, slots=True)
class Notified:
    """An event that a subscription, by its number, is to be told of; `bindings` and `changes` as in `Pair`."""

    position: int
    subscription: int
    event_id: str
    time: datetime
    body: str
    bindings: str | None = None
    changes: str | None = None
    notice: str | None = None


class Pair(NamedTuple):
    """An event, by its position, and a subscription, by its number, that it matched.

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
    """Pairs of position and subscription number, and the events they speak of.

    Positions grow from batch to batch. What is at or below `head` never changes but by the retention, so that a reader
    who goes on after the last position it saw misses nothing and sees nothing twice.
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
        """Writes all of a batch in one transaction; false, and nothing is written, if the stream's batch is there.

        `events`: position, id, time, body, of those that matched. `pairs`: position, subscription, perhaps bindings and
        changes. `dead`: offset, id, time, body, reason. Every position must be above `head`. `reached`: where the batch
        ends, on a shared log. `joins`: what it did to tables and contents.
        """
        return record(self._database, stream, batch, events, pairs, dead, reached, joins)

    def has(self, stream: str, batch: int) -> bool:
        """Whether the stream's batch is there, one of its newest."""
        its = select(BATCHES.c.batch).where(BATCHES.c.stream == stream, BATCHES.c.batch == batch)
        with self._database.read() as connection:
            return connection.execute(its).first() is not None

    def last_batch(self, stream: str) -> int | None:
        """The newest batch of a stream that is there."""
        newest = select(func.max(BATCHES.c.batch)).where(BATCHES.c.stream == stream)
        with self._database.read() as connection:
            found: int | None = connection.execute(newest).scalar_one()
            return found

    def head(self) -> int:
        """The newest position; 0 at first."""
        with self._database.read() as connection:
            return counters.value(connection, "head")

    def after(self, subscription: int, cursor: int, limit: int = 1_000) -> list[Notified]:
        """A subscription's notifications after a position, oldest first."""
        wanted = _notified().where(_PAIRS.subscription == subscription, _PAIRS.position > within(cursor))
        with self._database.read() as connection:
            return [Notified(*row) for row in connection.execute(wanted.order_by(_PAIRS.position).limit(limit))]

    def before(self, subscription: int, cursor: int, limit: int = 1_000) -> list[Notified]:
        """A subscription's notifications before a position, newest first."""
        wanted = _notified().where(_PAIRS.subscription == subscription, _PAIRS.position < within(cursor))
        with self._database.read() as connection:
            return [Notified(*row) for row in connection.execute(wanted.order_by(_PAIRS.position.desc()).limit(limit))]

    def of_owner_after(self, owner: str, cursor: int, limit: int = 1_000) -> list[Notified]:
        """Those of all an owner's subscriptions, by position and subscription.

        The notifications of one event stay together, since a cursor cannot point between them: that may make a few
        less than the limit, or, where one event alone has more, more.
        """
        its = and_(SUBSCRIPTIONS.c.number == _PAIRS.subscription, SUBSCRIPTIONS.c.owner == owner)
        with self._database.read() as connection:
            few = counted(connection, owner, None) <= _FEW
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
        """The pairs of everybody, in order, after `position` and up to `upto`.

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
        """Those that are still kept."""
        found: dict[int, StoredEvent] = {}
        with self._database.read() as connection:
            for some in pieces(positions):
                rows = connection.execute(select(EVENTS).where(EVENTS.c.position.in_(some)))
                found.update({row.position: StoredEvent(*row) for row in rows})
        return found

    def counts(self, subscription: int, since: datetime, bucket: timedelta) -> list[tuple[datetime, int]]:
        """How many there were in each span of time that had any; spans start at whole multiples of `bucket`."""
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
        """How many matches are kept."""
        wanted = select(func.count()).select_from(NOTIFICATIONS).where(_PAIRS.subscription == subscription)
        others = select(func.count()).select_from(_notices(subscription).subquery())
        with self._database.read() as connection:
            return int(connection.execute(wanted).scalar_one()) - int(connection.execute(others).scalar_one())

    def sweep(self, before: datetime) -> int:
        """Removes what is about events received before a moment; returns how many notifications that were."""
        return sweep(self._database, before)


def _notices(subscription: int) -> Select[Any]:
    """Where a subscription has a message that is no match: a few, found by an index of their own."""
    return select(_PAIRS.position).where(_PAIRS.subscription == subscription, _PAIRS.notice.is_not(None))


def _notified() -> Select[Any]:
    event = (EVENTS.c.id, EVENTS.c.time, EVENTS.c.body)
    return select(
        _PAIRS.position, _PAIRS.subscription, *event, _PAIRS.bindings, _PAIRS.changes, _PAIRS.notice
    ).join_from(NOTIFICATIONS, EVENTS, EVENTS.c.position == _PAIRS.position)


def _whole(rows: Sequence[Any], limit: int) -> Sequence[Any]:
    """Of one row more than the limit, those of events that are certainly complete."""
    if len(rows) <= limit:
        return rows
    return [row for row in rows if row.position < rows[-1].position]
