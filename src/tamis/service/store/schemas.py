"""Versions of the schema in the store."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select

from tamis.service.store.database import Database, StoreError
from tamis.service.store.subscription import locked
from tamis.service.store.tables import SCHEMAS, now


class Schemas:
    """Schemas in their dict form, as versions 1, 2, 3...; the newest is in force, and none ever changes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def current(self) -> tuple[int, dict[str, Any]] | None:
        newest = select(SCHEMAS.c.version, SCHEMAS.c.form).order_by(SCHEMAS.c.version.desc()).limit(1)
        with self._database.read() as connection:
            row = connection.execute(newest).one_or_none()
        return None if row is None else (row.version, json.loads(row.form))

    def newest(self) -> int:
        """Version in force; 0 if there is none."""
        with self._database.read() as connection:
            return self._newest(connection)

    def get(self, version: int) -> dict[str, Any] | None:
        with self._database.read() as connection:
            form = connection.execute(select(SCHEMAS.c.form).where(SCHEMAS.c.version == version)).scalar_one_or_none()
        return None if form is None else json.loads(form)

    def earlier(self, after: datetime) -> list[tuple[int, dict[str, Any] | None]]:
        """Earlier versions, 0 included, that were in force after a moment: newest first."""
        rows = select(SCHEMAS.c.version, SCHEMAS.c.form, SCHEMAS.c.added).order_by(SCHEMAS.c.version.desc())
        with self._database.read() as connection:
            found = connection.execute(rows).all()
        # A version was in force until the one after it was added.
        ended = sum(row.added > after for row in found)
        return [(row.version, json.loads(row.form)) for row in found[1 : ended + 1]] + (
            [(0, None)] if found and ended == len(found) else []
        )

    def add(self, form: dict[str, Any], after: int | None = None) -> int:
        """Adds a schema; returns its version. With `after`: only if that version (0 for none) is still the newest."""
        with self._database.write() as connection:
            locked(connection, "schema")
            newest = self._newest(connection)
            if after is not None and newest != after:
                raise StoreError(f"the schema is at version {newest} by now, not {after}; extend that one")
            row = {"version": newest + 1, "form": json.dumps(form), "added": now()}
            connection.execute(insert(SCHEMAS).values(row))
        return newest + 1

    @staticmethod
    def _newest(connection: Connection) -> int:
        return int(connection.execute(select(func.coalesce(func.max(SCHEMAS.c.version), 0))).scalar_one())
