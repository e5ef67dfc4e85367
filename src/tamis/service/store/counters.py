"""Counters that many writers share, and the counts of subscriptions by owner and state.

Each counter is one row, held by the transaction that moves it until its end. So values are committed in their order, on
PostgreSQL too: whoever sees one value of a counter sees all that was done under the values before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from tamis.service.store.subscription import State
from tamis.service.store.tables import COUNTERS, COUNTS

Counter = Literal["revision", "head", "schema", "purged"]


def value(connection: Connection, name: Counter) -> int:
    return int(connection.execute(select(COUNTERS.c.value).where(COUNTERS.c.name == name)).scalar_one())


def locked(connection: Connection, name: Counter) -> int:
    """Its value, which nobody else changes before the end of this transaction."""
    held = select(COUNTERS.c.value).where(COUNTERS.c.name == name).with_for_update()
    return int(connection.execute(held).scalar_one())


def advance(connection: Connection, name: Counter, by: int) -> int:
    """Its new value; the last `by` values are the caller's."""
    moving = update(COUNTERS).where(COUNTERS.c.name == name).values(value=COUNTERS.c.value + by)
    return int(connection.execute(moving.returning(COUNTERS.c.value)).scalar_one())


def put(connection: Connection, name: Counter, new: int) -> None:
    connection.execute(update(COUNTERS).where(COUNTERS.c.name == name).values(value=new))


def counted(connection: Connection, owner: str | None, state: State | None) -> int:
    """Number of an owner's subscriptions in a state; None: of everybody, in every state."""
    total = select(func.coalesce(func.sum(COUNTS.c["count"]), 0))
    if owner is not None:
        total = total.where(COUNTS.c.owner == owner)
    if state is not None:
        total = total.where(COUNTS.c.state == state)
    return int(connection.execute(total).scalar_one())


def moved(connection: Connection, changes: Mapping[tuple[str, str], int]) -> None:
    """Adds to the counts of (owner, state). The caller holds the revision counter, so that one does so at a time."""
    rows = [{"owner": owner, "state": state, "count": by} for (owner, state), by in sorted(changes.items()) if by]
    if not rows:
        return
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    adding = insert(COUNTS)
    summed = COUNTS.c["count"] + adding.excluded["count"]
    connection.execute(adding.on_conflict_do_update(index_elements=["owner", "state"], set_={"count": summed}), rows)
