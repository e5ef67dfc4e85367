"""Dead letters: what could not be taken or delivered, kept with the reason to be looked at and sent again."""

from __future__ import annotations

import builtins
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Row, delete, func, insert, select

from tamis.service.store.database import Database, made_storable, pieces, within
from tamis.service.store.tables import DEAD_LETTERS, now

LetterKind = Literal["event", "delivery"]

_SWEPT_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """`subject` is the id of the event, or of the subscription that was to be told; `owner` is whose it is."""

    id: int
    kind: LetterKind
    subject: str
    owner: str
    reason: str
    body: str
    detail: dict[str, Any]
    time: datetime


class DeadLetters:
    """Letters by id, which grows with time."""

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
        """Many in one transaction; each as `letter_row` makes it."""
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
        """The owner's, or everybody's for None, in the order of their coming, or the other way round.

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
        """Removes letters; returns how many there were."""
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
        """Removes those from before a moment, oldest first, some at a time; returns how many."""
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
    """A letter as a row. Strangers wrote it, so what no text column holds is escaped rather than refused."""
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
