"""Idempotency of publishing, for logs that cannot hold keys themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from tamis.service.store.database import Database
from tamis.service.store.moments import now
from tamis.service.store.tables import RECEIPTS

# Longer than any publish takes: one that began earlier and is not finished died on its way.
_ABANDONED = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """An earlier publish under the same key: where its events are in the log, or None while it is under way."""

    first: int | None
    count: int | None

    @property
    def finished(self) -> bool:
        return self.first is not None


class Receipts:
    """Hashed keys, each with its publisher, and what became of the publish."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, key_hash: str, owner: str) -> StoredReceipt | None:
        """None: go on, the key is yours now. Otherwise what is known of the publish that has it.

        A publish that was begun and not finished in a while was killed, and its key is given again; its events have
        the ids that they had then, so that whoever goes by ids sees no repeat.
        """
        moment = now()
        insert = sqlite.insert if self._database.is_sqlite else postgresql.insert
        adding = insert(RECEIPTS).values(key=key_hash, owner=owner, begun=moment).on_conflict_do_nothing()
        this = (RECEIPTS.c.key == key_hash, RECEIPTS.c.owner == owner)
        abandoned = (RECEIPTS.c.first.is_(None), RECEIPTS.c.begun < moment - _ABANDONED)
        with self._database.write() as connection:
            if connection.execute(adding.returning(RECEIPTS.c.key)).one_or_none() is not None:
                return None
            if connection.execute(update(RECEIPTS).where(*this, *abandoned).values(begun=moment)).rowcount > 0:
                return None
            row = connection.execute(select(RECEIPTS.c.first, RECEIPTS.c["count"]).where(*this)).one()
            return StoredReceipt(*row)

    def finish(self, key_hash: str, owner: str, first: int, count: int) -> None:
        """The publish is in the log, and a repeat is told so."""
        this = (RECEIPTS.c.key == key_hash, RECEIPTS.c.owner == owner)
        with self._database.write() as connection:
            connection.execute(update(RECEIPTS).where(*this).values({"first": first, "count": count}))

    def abandon(self, key_hash: str, owner: str) -> None:
        """The publish failed and left nothing behind: its key may be used at once."""
        this = (RECEIPTS.c.key == key_hash, RECEIPTS.c.owner == owner, RECEIPTS.c.first.is_(None))
        with self._database.write() as connection:
            connection.execute(delete(RECEIPTS).where(*this))

    def sweep(self, before: datetime) -> int:
        with self._database.write() as connection:
            return connection.execute(delete(RECEIPTS).where(RECEIPTS.c.begun < before)).rowcount
