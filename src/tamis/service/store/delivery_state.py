"""Dead letters, delivery state of webhooks and topics, and matching progress of the log, in the store."""

from __future__ import annotations

import builtins
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, Update, and_, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from tamis.service.store.database import Database, StoreError, made_storable, pieces, within
from tamis.service.store.tables import DEAD_LETTERS, DELIVERIES, PROGRESS, now

LetterKind = Literal["event", "delivery"]

_SWEPT_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Dead letter. `subject` is the id of the event, or of the subscription to be notified; `owner` is whose it is."""

    id: int
    kind: LetterKind
    subject: str
    owner: str
    reason: str
    body: str
    detail: dict[str, Any]
    time: datetime


class DeadLetters:
    """Dead letters by id, which grows with time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, kind: LetterKind, subject: str, owner: str, reason: str, body: str, detail: dict[str, Any] | None = None
    ) -> int:
        letter = letter_row(kind, subject, owner, reason, body, detail or {}, now())
        with self._database.write() as connection:
            return int(
                connection.execute(insert(DEAD_LETTERS).values(letter).returning(DEAD_LETTERS.c.id)).scalar_one()
            )

    def add_all(self, letters: Sequence[dict[str, Any]]) -> None:
        """Adds many in one transaction; each as `letter_row` makes it."""
        if letters:
            with self._database.write() as connection:
                connection.execute(insert(DEAD_LETTERS), builtins.list(letters))

    def list(
        self,
        owner: str | None,
        kind: LetterKind | None = None,
        after: int = 0,
        limit: int = 100,
        *,
        newest_first: bool = False,
    ) -> list[DeadLetter]:
        """Dead letters of the owner, or everybody's for None, oldest or newest first.

        Those that follow the letter `after` in that order; 0: from the first.
        """
        id = DEAD_LETTERS.c.id
        wanted = select(DEAD_LETTERS).order_by(id.desc() if newest_first else id).limit(limit)
        if after:
            wanted = wanted.where(id < within(after) if newest_first else id > within(after))
        if owner is not None:
            wanted = wanted.where(DEAD_LETTERS.c.owner == owner)
        if kind is not None:
            wanted = wanted.where(DEAD_LETTERS.c.kind == kind)
        with self._database.read() as connection:
            return [_letter(row) for row in connection.execute(wanted)]

    def get(self, id: int) -> DeadLetter | None:
        with self._database.read() as connection:
            row = connection.execute(select(DEAD_LETTERS).where(DEAD_LETTERS.c.id == within(id))).one_or_none()
        return None if row is None else _letter(row)

    def remove(self, ids: Sequence[int]) -> int:
        """Removes dead letters; returns how many there were."""
        removed = 0
        with self._database.write() as connection:
            for some in pieces([within(id) for id in ids]):
                removed += connection.execute(delete(DEAD_LETTERS).where(DEAD_LETTERS.c.id.in_(some))).rowcount
        return removed

    def count(self, owner: str | None = None, kind: LetterKind | None = None) -> int:
        counted = select(func.count()).select_from(DEAD_LETTERS)
        if owner is not None:
            counted = counted.where(DEAD_LETTERS.c.owner == owner)
        if kind is not None:
            counted = counted.where(DEAD_LETTERS.c.kind == kind)
        with self._database.read() as connection:
            return int(connection.execute(counted).scalar_one())

    def sweep(self, before: datetime) -> int:
        """Removes dead letters from before a moment, oldest first, some at a time; returns how many."""
        removed = 0
        while True:
            oldest = select(DEAD_LETTERS.c.id, DEAD_LETTERS.c.time).order_by(DEAD_LETTERS.c.id).limit(_SWEPT_AT_ONCE)
            with self._database.write() as connection:
                rows = connection.execute(oldest).all()
                old = [row.id for row in rows if row.time < before]
                for some in pieces(old):
                    connection.execute(delete(DEAD_LETTERS).where(DEAD_LETTERS.c.id.in_(some)))
            removed += len(old)
            if len(old) < _SWEPT_AT_ONCE:
                return removed


def letter_row(
    kind: LetterKind, subject: str, owner: str, reason: str, body: str, detail: dict[str, Any], time: datetime
) -> dict[str, Any]:
    """Row of a dead letter. Its text came from outside: characters that cannot be stored are escaped."""
    return {
        "kind": kind,
        "subject": made_storable(subject),
        "owner": owner,
        "reason": made_storable(reason),
        "body": made_storable(body),
        "detail": json.dumps(detail),
        "time": time,
    }


def _letter(row: Row[tuple[object, ...]]) -> DeadLetter:
    detail = json.loads(row.detail)
    return DeadLetter(row.id, row.kind, row.subject, row.owner, row.reason, row.body, detail, row.time)


# Delivery state of each webhook and Kafka subscription.

_CHANGING = ("cursor", "failures", "next_attempt", "last_error", "disabled")


@dataclass(frozen=True, slots=True)
class DeliveryState:
    """Delivery state of a subscription: everything up to `cursor` was acknowledged; `failures` counts attempts since
    then.

    `epoch` is how often the cursor was placed anew; within one it only advances.
    """

    subscription: int
    cursor: int = 0
    failures: int = 0
    next_attempt: datetime | None = None
    last_error: str = ""
    disabled: bool = False
    epoch: int = 0


class Deliveries:
    """Delivery states by subscription number; one that was never saved is missing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, numbers: Sequence[int]) -> dict[int, DeliveryState]:
        found: dict[int, DeliveryState] = {}
        with self._database.read() as connection:
            for some in pieces(numbers):
                rows = connection.execute(select(DELIVERIES).where(DELIVERIES.c.subscription.in_(some)))
                found.update({row.subscription: DeliveryState(*row) for row in rows})
        return found

    def save(self, states: Sequence[DeliveryState]) -> None:
        """Saves all of them, in one transaction. Cursors only advance: one that is further in the store stays.

        States of an earlier epoch are passed over.
        """
        if not states:
            return
        # In one order, so that two who save the same ones do not wait for each other; of two for one, the last.
        newest = {state.subscription: state for state in states}
        rows = [
            {**asdict(newest[number]), "last_error": made_storable(newest[number].last_error)}
            for number in sorted(newest)
        ]
        insert = sqlite.insert if self._database.is_sqlite else postgresql.insert
        adding = insert(DELIVERIES)
        changed = {name: adding.excluded[name] for name in _CHANGING}
        # Who has lost the right to push may still be saving, while who has it now is further on.
        older = and_(DELIVERIES.c.epoch == adding.excluded.epoch, DELIVERIES.c.cursor <= adding.excluded.cursor)
        saving = adding.on_conflict_do_update(index_elements=["subscription"], set_=changed, where=older)
        with self._database.write() as connection:
            connection.execute(saving, rows)

    def begin_at(self, number: int, cursor: int) -> None:
        """Places a cursor, ahead too: what is before it is not sent."""
        with self._database.write() as connection:
            place_anew(connection, number, cursor, ahead=True)

    def remove(self, numbers: Sequence[int]) -> None:
        with self._database.write() as connection:
            for some in pieces(numbers):
                connection.execute(delete(DELIVERIES).where(DELIVERIES.c.subscription.in_(some)))


def place_anew(connection: Connection, number: int, cursor: int, *, ahead: bool) -> int:
    """Begins another epoch of a delivery at a cursor, with nothing failed; returns the cursor.

    Unless `ahead`, the cursor is where it was if that is before the place: what has not been sent is not left out.
    """
    its = select(DELIVERIES.c.cursor, DELIVERIES.c.epoch).where(DELIVERIES.c.subscription == number)
    row = connection.execute(its.with_for_update()).one_or_none()
    before, epoch = (0, 0) if row is None else (int(row.cursor), int(row.epoch))
    placed = DeliveryState(number, within(cursor) if ahead else min(before, within(cursor)), epoch=epoch + 1)
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    placing = insert(DELIVERIES).values(asdict(placed))
    changed = {name: placing.excluded[name] for name in (*_CHANGING, "epoch")}
    connection.execute(placing.on_conflict_do_update(index_elements=["subscription"], set_=changed))
    return placed.cursor


# Matching progress of a log that several services share, and the stream that continues it.


@dataclass(frozen=True, slots=True)
class Reached:
    """Progress of a log: `stream` owns it, and everything before `offsets` (as Spark writes them; empty: nothing) is
    recorded.
    """

    log: str
    stream: str
    offsets: str


class Progress:
    """Progress of each shared log. The row moves in the transaction that records a batch, so each event is recorded
    once.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, log: str) -> Reached | None:
        """Progress of a log; None if no stream has begun it."""
        with self._database.read() as connection:
            row = connection.execute(select(PROGRESS).where(PROGRESS.c.log == log)).one_or_none()
        return None if row is None else Reached(*row)

    def take_over(self, last: Reached, stream: str) -> None:
        """Failover: from here on only this stream records events of the log, beginning where `last` says.

        StoreError, and nothing has changed, if another stream has advanced it meanwhile.
        """
        insert = sqlite.insert if self._database.is_sqlite else postgresql.insert
        begun = insert(PROGRESS).values(log=last.log, stream="", offsets="").on_conflict_do_nothing()
        there = (PROGRESS.c.log == last.log, PROGRESS.c.stream == last.stream, PROGRESS.c.offsets == last.offsets)
        with self._database.write() as connection:
            connection.execute(begun)
            _move(connection, update(PROGRESS).where(*there).values(stream=stream), last.log)


def advance(connection: Connection, reached: Reached) -> None:
    """Advances the progress, within the transaction under way; refuses a stream that no longer owns the log."""
    mine = (PROGRESS.c.log == reached.log, PROGRESS.c.stream == reached.stream)
    _move(connection, update(PROGRESS).where(*mine).values(offsets=reached.offsets), reached.log)


def require(connection: Connection, log: str, stream: str) -> None:
    """Refuses a stream that no longer owns the log; one that does keeps it to the end of the transaction."""
    mine = select(PROGRESS.c.log).where(PROGRESS.c.log == log, PROGRESS.c.stream == stream).with_for_update()
    if connection.execute(mine).first() is None:
        raise StoreError(f"the log {log} is matched by another service by now")


def _move(connection: Connection, moving: Update, log: str) -> None:
    if connection.execute(moving).rowcount != 1:
        raise StoreError(f"the log {log} is matched by another service by now")
