"""Notifications (matches of events and subscriptions) in segments and rows: recorded, read from any place on, counted
and swept.

A pair that has nothing more to say than that it matched is in the match log. Rows are what has: bindings, the changes
of joins, messages about subscriptions; and what 0.1 recorded, until it is old enough to go.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
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

from tamis.arrays import Int64s
from tamis.matchlog import Segment
from tamis.matchlog.runs import bitmap_of
from tamis.service.store import subscription as counters
from tamis.service.store.batches import record
from tamis.service.store.database import LARGEST, Database, pieces, within
from tamis.service.store.delivery_state import Reached
from tamis.service.store.joins import JoinWrites
from tamis.service.store.segments import Prepared, Segments
from tamis.service.store.tables import BATCHES, EVENTS, NOTIFICATIONS, SUBSCRIPTIONS, microseconds, moment

_OWNERS = 1_000  # whose subscriptions are remembered
# An owner with more subscriptions than this is served by going through everybody's notifications.
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
    """Pairs of position and subscription number, and the events they speak of: segments, and rows beside them.

    Positions grow from batch to batch. Up to `head`, rows never change but by retention, so a reader who goes on after
    the last position it saw misses nothing and sees nothing twice.
    """

    def __init__(self, database: Database, segments: Segments) -> None:
        self._database = database
        self.segments = segments
        self._numbers: OrderedDict[str, tuple[int, Wanted]] = OrderedDict()

    def record(
        self,
        stream: str,
        batch: int,
        events: pa.Table,
        pairs: pa.Table,
        dead: pa.Table | None = None,
        reached: Reached | None = None,
        joins: JoinWrites | None = None,
        made: Sequence[Prepared] = (),
    ) -> bool:
        """Writes a batch in one transaction; returns False, having written nothing, if the stream's batch is there
        already.

        `events`: position, id, time, body, of those that matched, ascending. `pairs`: position, subscription, perhaps
        bindings and changes; cheapest in order of the position. `dead`: offset, id, time, body, reason. Every position
        must be above `head`. `reached`: where the batch ends, on a shared log. `joins`: what it did to tables and
        contents. `made`: segments of its pairs that are made already.
        """
        return record(self._database, self.segments, stream, batch, events, pairs, dead, reached, joins, made)

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
        """A subscription's notifications after a position, oldest first."""
        cursor = within(cursor)
        wanted = _notified().where(_PAIRS.subscription == subscription, _PAIRS.position > cursor)

        def read(connection: Connection) -> list[Notified]:
            rows = [Notified(*row) for row in connection.execute(wanted.order_by(_PAIRS.position).limit(limit))]
            found: list[_Some] = []
            missing, start = limit, self._floor(connection, cursor)
            for segment in self._reach(connection, start, LARGEST):
                ranks = segment.first_of(subscription, segment.ranks(start, LARGEST), missing)
                if len(ranks):
                    found.append(_Some(segment, ranks))
                    missing -= len(ranks)
                if not missing:
                    break
            return _together(rows, found, subscription, limit, newest=False)

        return self.segments.read(read)

    def before(self, subscription: int, cursor: int, limit: int = 1_000) -> list[Notified]:
        """A subscription's notifications before a position, newest first."""
        cursor = within(cursor)
        wanted = _notified().where(_PAIRS.subscription == subscription, _PAIRS.position < cursor)

        def read(connection: Connection) -> list[Notified]:
            rows = [Notified(*row) for row in connection.execute(wanted.order_by(_PAIRS.position.desc()).limit(limit))]
            found: list[_Some] = []
            missing, start = limit, self._floor(connection, -1)
            for segment in self._reach(connection, start, cursor - 1, newest=True):
                ranks = segment.last_of(subscription, segment.ranks(start, cursor - 1), missing)
                if len(ranks):
                    found.append(_Some(segment, ranks))
                    missing -= len(ranks)
                if not missing:
                    break
            return _together(rows, found, subscription, limit, newest=True)

        return self.segments.read(read)

    def of_owner_after(self, owner: str, cursor: int, limit: int = 1_000) -> list[Notified]:
        """Notifications of all an owner's subscriptions, by position and subscription.

        The notifications of one event stay together, since a cursor cannot point between them: that may make a few
        less than the limit, or, where one event alone has more, more.
        """
        cursor = within(cursor)
        its = and_(SUBSCRIPTIONS.c.number == _PAIRS.subscription, SUBSCRIPTIONS.c.owner == owner)

        def read(connection: Connection) -> list[Notified]:
            few = counters.counted(connection, owner, None) <= _FEW
            if few:
                numbers = select(SUBSCRIPTIONS.c.number).where(SUBSCRIPTIONS.c.owner == owner)
                wanted = select(NOTIFICATIONS).where(_PAIRS.subscription.in_(numbers))
            else:
                wanted = select(NOTIFICATIONS).where(select(SUBSCRIPTIONS.c.number).where(its).exists())
            rows, reached = _rows(connection, wanted, cursor, LARGEST, limit)
            pairs, upto = self._pairs(connection, self._owned(connection, owner), cursor, LARGEST, limit)
            whole, _ = _whole(rows, pairs, min(reached, upto), limit)
            events = self._events(connection, [pair.position for pair in whole])
            return [
                Notified(pair[0], pair[1], event.id, event.time, event.body, *pair[2:])
                for pair in whole
                if (event := events.get(pair.position)) is not None
            ]

        return self.segments.read(read)

    def since(self, position: int, upto: int, limit: int) -> list[Pair]:
        """Pairs of everybody, in order, after `position` and up to `upto`.

        The pairs of one event stay together, as in `of_owner_after`.
        """
        return self.concerning(None, position, upto, limit)[0]

    def concerning(self, wanted: Wanted | None, position: int, upto: int, limit: int) -> tuple[list[Pair], int]:
        """The pairs of some subscriptions (None: of all), as in `since`; and up to where there are no others.

        Of pairs in segments only those that are wanted become objects, and nothing else is done for each.
        """
        position, upto = within(position), within(upto)

        def read(connection: Connection) -> tuple[list[Pair], int]:
            rows, reached = _rows(connection, select(NOTIFICATIONS), position, upto, limit)
            if wanted is not None:
                rows = [row for row in rows if row.subscription in wanted]
            pairs, end = self._pairs(connection, wanted, position, upto, limit)
            return _whole(rows, pairs, min(end, reached), limit)

        return self.segments.read(read)

    def events(self, positions: Sequence[int]) -> dict[int, StoredEvent]:
        """Events among these that are still kept."""
        return self.segments.read(lambda connection: self._events(connection, positions))

    def counts(self, subscription: int, since: datetime, bucket: timedelta) -> list[tuple[datetime, int]]:
        """Number of matches in each span of time that had any; spans start at whole multiples of `bucket`."""
        width, least = bucket // timedelta(microseconds=1), microseconds(since)
        start = (type_coerce(EVENTS.c.time, BigInteger) // width * width).label("start")
        wanted = (
            select(start, func.count())
            .join_from(NOTIFICATIONS, EVENTS, EVENTS.c.position == _PAIRS.position)
            .where(_PAIRS.subscription == subscription, EVENTS.c.time >= since)
            .where(_PAIRS.position.not_in(_notices(subscription)))
            .group_by("start")
        )

        def read(connection: Connection) -> list[tuple[datetime, int]]:
            counted = Counter({int(row[0]): int(row[1]) for row in connection.execute(wanted)})
            after = self._floor(connection, -1)
            for segment in self._reach(connection, after, LARGEST):
                if segment.newest >= least:
                    times = segment.times[segment.first_of(subscription, segment.ranks(after, LARGEST), segment.events)]
                    starts, numbers = np.unique(times[times >= least] // width * width, return_counts=True)
                    counted.update(dict(zip(starts.tolist(), numbers.tolist(), strict=True)))
            return [(moment(at), counted[at]) for at in sorted(counted)]

        return self.segments.read(read)

    def total(self, subscription: int) -> int:
        """Number of kept matches."""
        wanted = select(func.count()).select_from(NOTIFICATIONS).where(_PAIRS.subscription == subscription)
        others = select(func.count()).select_from(_notices(subscription).subquery())

        def read(connection: Connection) -> int:
            rows = int(connection.execute(wanted).scalar_one()) - int(connection.execute(others).scalar_one())
            after = self._floor(connection, -1)
            reached = self._reach(connection, after, LARGEST)
            return rows + sum(segment.count_of(subscription, segment.ranks(after, LARGEST)) for segment in reached)

        return self.segments.read(read)

    def position_at(self, time: datetime) -> int:
        """The first position whose event was received at or after a moment; one above the head if there is none.

        Segments are found by their times; of rows, those that are older are gone through.
        """
        least = microseconds(time)
        rows = select(EVENTS.c.position).where(EVENTS.c.time >= time).order_by(EVENTS.c.position).limit(1)

        def read(connection: Connection) -> int:
            row = connection.execute(rows).scalar_one_or_none()
            first = counters.value(connection, "head") + 1 if row is None else int(row)
            floor, names = self.segments.names(connection)
            for named in names:
                if named.first >= first:
                    break
                if named.newest >= least and named.last >= floor:
                    segment = self.segments.opened(connection, named)
                    low = int(np.searchsorted(segment.positions, floor))
                    found = np.flatnonzero(segment.times[low:] >= least)
                    if len(found):
                        return min(first, int(segment.positions[low + int(found[0])]))
            return first

        return self.segments.read(read)

    def oldest(self) -> datetime | None:
        """When the oldest event that is kept was received; None if none is."""
        rows = select(EVENTS.c.time).order_by(EVENTS.c.position).limit(1)

        def read(connection: Connection) -> datetime | None:
            row: datetime | None = connection.execute(rows).scalar_one_or_none()
            after = self._floor(connection, -1)
            for segment in self._reach(connection, after, LARGEST):
                oldest = moment(int(segment.times[segment.ranks(after, LARGEST)[0] :].min()))
                return oldest if row is None else min(row, oldest)
            return row

        return self.segments.read(read)

    def sweep(self, before: datetime) -> int:
        """Removes notifications of events received before a moment, oldest first; returns how many.

        Positions grow with time but for the order within a batch, so it goes up to the first event that is to stay. Of
        the match log whole segments go, when the newest event of one is old enough.
        """
        removed = self.segments.sweep(before)
        while True:
            with self._database.write() as connection:
                some, more = _sweep_some(connection, before)
            removed += some
            if not more:
                return removed

    # Reading segments and rows together.

    def _reach(self, connection: Connection, after: int, upto: int, newest: bool = False) -> Iterator[Segment]:
        """Segments with positions after one and up to another, oldest or newest first."""
        floor, names = self.segments.names(connection)
        for named in reversed(names) if newest else names:
            if named.last > after and named.last >= floor and named.first <= upto:
                yield self.segments.opened(connection, named)

    def _floor(self, connection: Connection, after: int) -> int:
        """A position after which to look: what is older than is kept is not there, though its segment may be."""
        return max(after, self.segments.names(connection)[0] - 1)

    def _pairs(
        self, connection: Connection, wanted: Wanted | None, after: int, upto: int, limit: int
    ) -> tuple[list[Pair], int]:
        """Pairs of segments in order, whole events, about `limit`; and up to which position these are all."""
        found: list[Pair] = []
        after = self._floor(connection, after)
        for segment in self._reach(connection, after, upto):
            low, high = segment.ranks(after, upto)
            missing = limit - len(found)
            if missing <= 0 and low < high:
                return found, int(segment.positions[low]) - 1
            if wanted is None:
                ranks, numbers = segment.pairs_between((low, high), missing)
                # Every event of a segment has a pair, so what follows the last one is where more would be.
                reached = int(ranks[-1]) + 1 if len(ranks) else high
            else:
                ranks, numbers, reached = segment.pairs_of(wanted.numbers, wanted.bitmap, (low, high), missing)
            found += map(Pair, segment.positions[ranks].tolist(), numbers.tolist())
            if reached < high:
                return found, int(segment.positions[reached]) - 1
        return found, upto

    def _events(self, connection: Connection, positions: Sequence[int]) -> dict[int, StoredEvent]:
        found: dict[int, StoredEvent] = {}
        asked = np.unique(np.array(positions, np.int64))
        floor, names = self.segments.names(connection)
        for named in names:
            its = asked[np.searchsorted(asked, max(named.first, floor)) : np.searchsorted(asked, named.last, "right")]
            if len(its):
                segment = self.segments.opened(connection, named)
                ranks = np.searchsorted(segment.positions, its)
                ranks = ranks[segment.positions[ranks] == its]
                told = zip(segment.positions[ranks].tolist(), segment.told(ranks), strict=True)
                found.update({at: StoredEvent(at, id, moment(time), body) for at, (id, time, body) in told})
        for some in pieces([at for at in asked.tolist() if at not in found]):
            rows = connection.execute(select(EVENTS).where(EVENTS.c.position.in_(some)))
            found.update({row.position: StoredEvent(*row) for row in rows})
        return found

    def _owned(self, connection: Connection, owner: str) -> Wanted:
        """An owner's subscriptions, asked for once until any subscription changes."""
        revision = counters.value(connection, "revision")
        known = self._numbers.get(owner)
        if known is None or known[0] != revision:
            rows = connection.execute(select(SUBSCRIPTIONS.c.number).where(SUBSCRIPTIONS.c.owner == owner))
            known = revision, Wanted.of([int(row[0]) for row in rows])
            self._numbers[owner] = known
            while len(self._numbers) > _OWNERS:
                self._numbers.popitem(last=False)
        return known[1]


class Wanted:
    """Subscriptions whose pairs are asked for, by number: ascending, as a bitmap, and as a set."""

    __slots__ = ("_set", "bitmap", "numbers")

    def __init__(self, numbers: Int64s) -> None:
        self.numbers, self.bitmap, self._set = numbers, bitmap_of(numbers), frozenset(numbers.tolist())

    @classmethod
    def of(cls, numbers: Collection[int]) -> Wanted:
        return cls(np.sort(np.fromiter(numbers, np.int64, len(numbers))))

    def __contains__(self, number: int) -> bool:
        return number in self._set


class _Some(NamedTuple):
    """Events of a segment, by their ascending ranks."""

    segment: Segment
    ranks: Int64s


def _together(rows: list[Notified], found: list[_Some], subscription: int, limit: int, newest: bool) -> list[Notified]:
    """One subscription's notifications from rows and segments, in the order that both have, up to the limit."""
    order = -1 if newest else 1
    places = [(int(at), some, n) for some in found for n, at in enumerate(some.segment.positions[some.ranks].tolist())]
    kept = sorted([*(row.position for row in rows), *(at for at, _, _ in places)], reverse=newest)[:limit]
    if not kept:
        return []
    last = kept[-1] * order
    told = [row for row in rows if row.position * order <= last]
    for some in found:
        at = some.segment.positions[some.ranks]
        ranks = some.ranks[at * order <= last]
        stored = zip(some.segment.positions[ranks].tolist(), some.segment.told(ranks), strict=True)
        told += [Notified(at, subscription, id, moment(time), body) for at, (id, time, body) in stored]
    return sorted(told, key=lambda one: one.position, reverse=newest)


def _rows(connection: Connection, wanted: Select[Any], after: int, upto: int, limit: int) -> tuple[list[Pair], int]:
    """Rows of pairs in order, whole events, about `limit`; and up to which position these are all."""
    ordered = wanted.order_by(_PAIRS.position, _PAIRS.subscription)
    span = ordered.where(_PAIRS.position > after, _PAIRS.position <= upto)
    rows = [Pair(*row) for row in connection.execute(span.limit(limit + 1))]
    if len(rows) <= limit:
        return rows, upto
    last = rows[-1].position
    whole = [row for row in rows if row.position < last]
    if whole:
        return whole, last - 1
    return [Pair(*row) for row in connection.execute(ordered.where(_PAIRS.position == last))], last


def _whole(rows: list[Pair], pairs: list[Pair], reached: int, limit: int) -> tuple[list[Pair], int]:
    """Pairs of both in order, whole events, as many as the limit takes and one event at least; and up to where."""
    both = sorted([pair for pair in (*rows, *pairs) if pair.position <= reached], key=lambda pair: pair[:2])
    if len(both) <= limit:
        return both, reached
    end = both[limit].position
    whole = [pair for pair in both[:limit] if pair.position < end]
    return (whole, end - 1) if whole else ([pair for pair in both if pair.position == end], end)


def _notices(subscription: int) -> Select[Any]:
    """Positions at which a subscription has a message that is no match: a few, found by an index of their own."""
    return select(_PAIRS.position).where(_PAIRS.subscription == subscription, _PAIRS.notice.is_not(None))


def _notified() -> Select[Any]:
    event = (EVENTS.c.id, EVENTS.c.time, EVENTS.c.body)
    return select(
        _PAIRS.position, _PAIRS.subscription, *event, _PAIRS.bindings, _PAIRS.changes, _PAIRS.notice
    ).join_from(NOTIFICATIONS, EVENTS, EVENTS.c.position == _PAIRS.position)


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
