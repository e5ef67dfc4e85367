"""How far each webhook and Kafka subscription has been told, and how it is doing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite

from tamis.service.store.database import Database, pieces
from tamis.service.store.errors import made_storable
from tamis.service.store.tables import DELIVERIES

_CHANGING = ("cursor", "failures", "next_attempt", "last_error", "disabled")


@dataclass(frozen=True, slots=True)
class DeliveryState:
    """Everything up to `cursor` was acknowledged by the subscriber. `failures` counts attempts since then."""

    subscription: int
    cursor: int = 0
    failures: int = 0
    next_attempt: datetime | None = None
    last_error: str = ""
    disabled: bool = False


class Deliveries:
    """One state a subscription number; one that was never saved is not there."""

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
        """All of them, in one transaction. A cursor only goes forward: one that went further meanwhile stays."""
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
        older = DELIVERIES.c.cursor <= adding.excluded.cursor
        saving = adding.on_conflict_do_update(index_elements=["subscription"], set_=changed, where=older)
        with self._database.write() as connection:
            connection.execute(saving, rows)

    def remove(self, numbers: Sequence[int]) -> None:
        with self._database.write() as connection:
            for some in pieces(numbers):
                connection.execute(delete(DELIVERIES).where(DELIVERIES.c.subscription.in_(some)))
