"""Advertisements: what publishers say they will publish."""

from __future__ import annotations

import builtins
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, insert, select

from tamis.service.store import counters
from tamis.service.store.database import Database, TooManyError, is_storable, pieces, require_storable
from tamis.service.store.hashing import random_text
from tamis.service.store.tables import ADVERTISEMENTS, now


@dataclass(frozen=True, slots=True)
class Advertisement:
    """Events of `event_type` that satisfy `filter` are to be expected from `owner` until `expires`."""

    id: str
    owner: str
    event_type: str
    filter: str
    created: datetime
    expires: datetime


class Advertisements:
    """Advertisements by id; those that have expired are not shown, and go with the next sweep."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self, owner: str, event_type: str, filter: str, expires: datetime, most: int | None = None
    ) -> Advertisement:
        """`TooManyError` if the owner has `most` in force already, however many ask at the same moment."""
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
        """Advertisements among some that are there and have not expired."""
        table, found = ADVERTISEMENTS.c, set[str]()
        with self._database.read() as connection:
            for some in pieces(list(ids)):
                wanted = select(table.id).where(table.id.in_(some), table.expires > now())
                found.update(connection.execute(wanted).scalars())
        return found

    def list(self, owner: str | None = None, limit: int = 1_000) -> builtins.list[Advertisement]:
        """The owner's, or everybody's for None, in the order of their making.

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
        """True if there was such a one."""
        if not is_storable(id):
            return False
        with self._database.write() as connection:
            return connection.execute(delete(ADVERTISEMENTS).where(ADVERTISEMENTS.c.id == id)).rowcount > 0

    def sweep(self, before: datetime) -> int:
        with self._database.write() as connection:
            return connection.execute(delete(ADVERTISEMENTS).where(ADVERTISEMENTS.c.expires < before)).rowcount
