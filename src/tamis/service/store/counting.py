"""How many subscriptions an owner has in each state, kept with every change."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite

from tamis.service.store.subscription import State
from tamis.service.store.tables import COUNTS


def counted(connection: Connection, owner: str | None, state: State | None) -> int:
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
