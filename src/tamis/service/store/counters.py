"""Counters that many writers share: each is one row, held by the transaction that moves it until its end.

So values are committed in their order, on PostgreSQL too: whoever sees one value of a counter sees all that was done
under the values before it.
"""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Connection, select, update

from tamis.service.store.tables import COUNTERS

Counter = Literal["revision", "head", "schema", "purged"]


def value(connection: Connection, name: Counter) -> int:
    return int(connection.execute(select(COUNTERS.c.value).where(COUNTERS.c.name == name)).scalar_one())


def locked(connection: Connection, name: Counter) -> int:
    """Its value, which nobody else changes before the end of this transaction."""
    held = select(COUNTERS.c.value).where(COUNTERS.c.name == name).with_for_update()
    return int(connection.execute(held).scalar_one())


def advance(connection: Connection, name: Counter, by: int) -> int:
    """Its new value; the last `by` values are the caller's."""
    moved = update(COUNTERS).where(COUNTERS.c.name == name).values(value=COUNTERS.c.value + by)
    return int(connection.execute(moved.returning(COUNTERS.c.value)).scalar_one())


def put(connection: Connection, name: Counter, new: int) -> None:
    connection.execute(update(COUNTERS).where(COUNTERS.c.name == name).values(value=new))
