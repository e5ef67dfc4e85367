"""What is kept no longer: notifications and events from before a moment, removed oldest first, some at a time."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, exists, func, select, true, tuple_

from tamis.service.store.database import Database
from tamis.service.store.tables import EVENTS, NOTIFICATIONS

# A transaction of so many pairs is over before anybody who waits to write would notice.
_AT_ONCE = 10_000
_PAIRS = NOTIFICATIONS.c


def sweep(database: Database, before: datetime) -> int:
    """Positions grow with time but for the order within a batch, so it goes up to the first event that is to stay."""
    removed = 0
    while True:
        with database.write() as connection:
            some, more = _sweep_some(connection, before)
        removed += some
        if not more:
            return removed


def _sweep_some(connection: Connection, before: datetime) -> tuple[int, bool]:
    """How many pairs went, and whether there may be more to go."""
    oldest = select(_PAIRS.position, _PAIRS.subscription).order_by(_PAIRS.position, _PAIRS.subscription)
    last = connection.execute(oldest.offset(_AT_ONCE - 1).limit(1)).one_or_none()
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
