"""Advertisements of publishers, and backtest jobs, in the store."""

from __future__ import annotations

import builtins
import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Row, delete, func, insert, select, update

from tamis.service.store import subscription as counters
from tamis.service.store.database import Database, TooManyError, is_storable, made_storable, pieces, require_storable
from tamis.service.store.hashing import random_text
from tamis.service.store.tables import ADVERTISEMENTS, BACKTESTS, now


@dataclass(frozen=True, slots=True)
class Advertisement:
    """Advertisement: events of `event_type` that satisfy `filter` are to be expected from `owner` until `expires`."""

    id: str
    owner: str
    event_type: str
    filter: str
    created: datetime
    expires: datetime


class Advertisements:
    """Advertisements by id; expired ones are not shown, and are removed by the next sweep."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self, owner: str, event_type: str, filter: str, expires: datetime, most: int | None = None
    ) -> Advertisement:
        """Creates an advertisement; `TooManyError` if the owner has `most` in force already, however many requests come
        at once.
        """
        require_storable(event_type, "event_type")
        require_storable(filter, "filter")
        made = Advertisement(f"adv_{random_text(16)}", owner, event_type, filter, now(), expires)
        with self._database.write() as connection:
            if most is not None:
                # Whoever else makes one waits for this row.
                counters.locked(connection, "revision")
                in_force = select(func.count()).where(ADVERTISEMENTS.c.owner == owner, ADVERTISEMENTS.c.expires > now())
                if connection.execute(in_force).scalar_one() >= most:
                    raise TooManyError(f"there are {most:,} advertisements already")
            connection.execute(
                insert(ADVERTISEMENTS).values(
                    id=made.id,
                    owner=owner,
                    event_type=event_type,
                    filter=filter,
                    created=made.created,
                    expires=expires,
                )
            )
        return made

    def get(self, id: str) -> Advertisement | None:
        if not is_storable(id):
            return None
        table = ADVERTISEMENTS.c
        with self._database.read() as connection:
            row = connection.execute(select(ADVERTISEMENTS).where(table.id == id, table.expires > now())).one_or_none()
        return None if row is None else Advertisement(*row)

    def in_force(self, ids: Collection[str]) -> set[str]:
        """Filters ids of advertisements: those that exist and have not expired."""
        table, found = ADVERTISEMENTS.c, set[str]()
        with self._database.read() as connection:
            for some in pieces(list(ids)):
                wanted = select(table.id).where(table.id.in_(some), table.expires > now())
                found.update(connection.execute(wanted).scalars())
        return found

    def list(self, owner: str | None = None, limit: int = 1_000) -> builtins.list[Advertisement]:
        """Advertisements of the owner, or everybody's for None, in the order of creation.

        Where there are more, those that keys made come before those without one, which anybody could make.
        """
        table = ADVERTISEMENTS.c
        first = (table.owner == "", table.created, table.id)
        wanted = select(ADVERTISEMENTS).where(table.expires > now()).order_by(*first).limit(limit)
        if owner is not None:
            wanted = wanted.where(table.owner == owner)
        with self._database.read() as connection:
            found = [Advertisement(*row) for row in connection.execute(wanted)]
        return sorted(found, key=lambda one: (one.created, one.id))

    def remove(self, id: str) -> bool:
        """Removes an advertisement; returns False if it did not exist."""
        if not is_storable(id):
            return False
        with self._database.write() as connection:
            return connection.execute(delete(ADVERTISEMENTS).where(ADVERTISEMENTS.c.id == id)).rowcount > 0

    def sweep(self, before: datetime) -> int:
        with self._database.write() as connection:
            return connection.execute(delete(ADVERTISEMENTS).where(ADVERTISEMENTS.c.expires < before)).rowcount


# Backtests: requested by subscribers, run one after the other where Spark is.

BacktestState = Literal["waiting", "running", "done", "failed"]

_ATTEMPTS = 3
_UNDER_WAY = ("waiting", "running")


@dataclass(frozen=True, slots=True)
class Backtest:
    """Backtest job. `result` is there once it is done, `error` once it has failed; `done` of `total` events are
    evaluated.
    """

    id: str
    owner: str
    request: dict[str, Any]
    state: BacktestState
    done: int
    total: int
    result: dict[str, Any] | None
    error: str
    created: datetime
    changed: datetime


class Backtests:
    """Queue of backtest jobs in the order of creation. A job is claimed by one process, however many ask."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, owner: str, request: dict[str, Any], most: int | None = None) -> str:
        """Queues a backtest; `TooManyError` if `most` of the owner's are under way already, however many requests come
        at once.
        """
        id, moment = f"bkt_{random_text(16)}", now()
        row = {"id": id, "owner": owner, "request": json.dumps(request), "state": "waiting", "attempts": 0, "done": 0}
        rest = {"total": 0, "error": "", "created": moment, "changed": moment}
        with self._database.write() as connection:
            if most is not None:
                # Whoever else makes one waits for this row.
                counters.locked(connection, "revision")
                under_way = select(func.count()).where(BACKTESTS.c.owner == owner, BACKTESTS.c.state.in_(_UNDER_WAY))
                if connection.execute(under_way).scalar_one() >= most:
                    raise TooManyError(f"{most:,} backtests are under way already")
            connection.execute(insert(BACKTESTS).values(row | rest))
        return id

    def under_way(self, ids: Collection[str]) -> set[str]:
        """Filters ids of backtests: those that have not ended."""
        found = select(BACKTESTS.c.id).where(BACKTESTS.c.id.in_(ids), BACKTESTS.c.state.in_(_UNDER_WAY))
        with self._database.read() as connection:
            return set(connection.execute(found).scalars())

    def claim(self) -> Backtest | None:
        """Claims the job that has waited longest, which is running from now on; jobs with a key go first."""
        table = BACKTESTS.c
        first = (table.owner == "", table.created, table.id)
        waiting = select(table.id).where(table.state == "waiting").order_by(*first).limit(1)
        running = {"state": "running", "attempts": table.attempts + 1, "changed": now()}
        with self._database.write() as connection:
            id = connection.execute(waiting.with_for_update(skip_locked=True)).scalar_one_or_none()
            if id is None:
                return None
            claimed = update(BACKTESTS).where(table.id == id).values(running).returning(BACKTESTS)
            return _backtest(connection.execute(claimed).one())

    def progress(self, id: str, done: int, total: int) -> None:
        self._change(id, {"done": done, "total": total})

    def finish(self, id: str, result: dict[str, Any] | None = None, error: str = "") -> None:
        """Ends a job: done with a result, failed without one."""
        state = "done" if result is not None else "failed"
        kept = None if result is None else json.dumps(result)
        self._change(id, {"state": state, "result": kept, "error": made_storable(error)})

    def requeue(self) -> int:
        """Requeues jobs that ran when their process died, unless that happened too often; returns how many wait."""
        table = BACKTESTS.c
        lost = update(BACKTESTS).where(table.state == "running")
        died = {"state": "failed", "error": "the process that ran it ended each time", "changed": now()}
        with self._database.write() as connection:
            connection.execute(lost.where(table.attempts >= _ATTEMPTS).values(died))
            return connection.execute(lost.values(state="waiting", done=0, changed=now())).rowcount

    def get(self, id: str) -> Backtest | None:
        if not is_storable(id):
            return None
        with self._database.read() as connection:
            row = connection.execute(select(BACKTESTS).where(BACKTESTS.c.id == id)).one_or_none()
        return None if row is None else _backtest(row)

    def list(self, owner: str | None, limit: int = 100) -> builtins.list[Backtest]:
        """Backtests of the owner, or everybody's for None, newest first."""
        wanted = select(BACKTESTS).order_by(BACKTESTS.c.created.desc(), BACKTESTS.c.id).limit(limit)
        if owner is not None:
            wanted = wanted.where(BACKTESTS.c.owner == owner)
        with self._database.read() as connection:
            return [_backtest(row) for row in connection.execute(wanted)]

    def sweep(self, before: datetime) -> int:
        """Removes backtests that ended before a moment; returns how many."""
        ended = (BACKTESTS.c.state.in_(["done", "failed"]), BACKTESTS.c.changed < before)
        with self._database.write() as connection:
            return connection.execute(delete(BACKTESTS).where(*ended)).rowcount

    def _change(self, id: str, values: dict[str, Any]) -> None:
        with self._database.write() as connection:
            connection.execute(update(BACKTESTS).where(BACKTESTS.c.id == id).values(values | {"changed": now()}))


def _backtest(row: Row[tuple[object, ...]]) -> Backtest:
    result = None if row.result is None else json.loads(row.result)
    return Backtest(
        row.id,
        row.owner,
        json.loads(row.request),
        row.state,
        row.done,
        row.total,
        result,
        row.error,
        row.created,
        row.changed,
    )
