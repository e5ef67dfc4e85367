"""API keys in the store, with their roles: publish, subscribe, administer."""

from __future__ import annotations

import builtins
import re
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast, get_args

from sqlalchemy import Connection, Row, insert, select, update

from tamis.service.store import subscription as counters
from tamis.service.store.database import Database, RevokedError, StoreError, is_storable, pieces, require_storable
from tamis.service.store.ending import pause_all
from tamis.service.store.hashing import digest, fits, random_text
from tamis.service.store.tables import KEYS, now

Role = Literal["publish", "subscribe", "administer"]
ROLES: frozenset[Role] = frozenset(get_args(Role))

_SECRET = re.compile(r"tk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Key:
    """API key without its secret. A revoked one grants nothing."""

    id: str
    name: str
    roles: frozenset[Role]
    created: datetime
    revoked: datetime | None


class Keys:
    """API keys of a store. A secret is `tk_<id>_<43 random characters>`, shown once and stored as a hash."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, roles: Iterable[Role]) -> tuple[Key, str]:
        wanted = frozenset(roles)
        if not wanted or not wanted <= ROLES:
            raise StoreError(f"a key has one or more of the roles {', '.join(sorted(ROLES))}")
        key = Key(secrets.token_hex(8), require_storable(name, "name"), wanted, now(), None)
        secret = f"tk_{key.id}_{random_text()}"
        row = {
            "id": key.id,
            "name": key.name,
            "roles": " ".join(sorted(wanted)),
            "digest": digest(secret),
            "created": key.created,
        }
        with self._database.write() as connection:
            connection.execute(insert(KEYS).values(row))
        return key, secret

    def find(self, secret: str) -> Key | None:
        """Key of a secret; None if the secret is malformed, unknown or revoked."""
        form = _SECRET.fullmatch(secret)
        if form is None:
            return None
        with self._database.read() as connection:
            row = connection.execute(select(KEYS).where(KEYS.c.id == form[1])).one_or_none()
        if not fits(secret, None if row is None else row.digest) or row is None or row.revoked is not None:
            return None
        return _key(row)

    def list(self) -> list[Key]:
        """All keys, revoked ones too, in the order of creation."""
        with self._database.read() as connection:
            return [_key(row) for row in connection.execute(select(KEYS).order_by(KEYS.c.created, KEYS.c.id))]

    def revoke(self, id: str) -> int | None:
        """Revokes a key and pauses its active subscriptions; returns how many, or None if there was no such key to
        revoke.

        One transaction: no service ever sees the key gone and its webhooks still to be called.
        """
        if not is_storable(id):
            return None
        live = (KEYS.c.id == id, KEYS.c.revoked.is_(None))
        moment = now()
        with self._database.write() as connection:
            # Before the key's row, as those do who make subscriptions for it: they wait here, and find it revoked.
            counters.locked(connection, "revision")
            if not connection.execute(update(KEYS).where(*live).values(revoked=moment)).rowcount:
                return None
            return pause_all(connection, id, moment)

    def revoked(self, ids: Collection[str]) -> set[str]:
        """Filters ids of keys: those that are revoked."""
        found: set[str] = set()
        with self._database.read() as connection:
            for some in pieces(sorted(filter(is_storable, ids))):
                gone = select(KEYS.c.id).where(KEYS.c.id.in_(some), KEYS.c.revoked.is_not(None))
                found.update(connection.execute(gone).scalars())
        return found


def require_live(connection: Connection, owner: str) -> None:
    """Refuses an owner whose key is revoked. The caller holds the revision counter, so that this stays true."""
    revoked = select(KEYS.c.revoked).where(KEYS.c.id == owner)
    if owner and connection.execute(revoked).scalar_one_or_none() is not None:
        raise RevokedError(f"the key {owner} is revoked")


def require_subscriber(connection: Connection, owner: str) -> None:
    """Refuses an owner that is no live key with the role to subscribe."""
    found = connection.execute(select(KEYS).where(KEYS.c.id == owner)).one_or_none()
    if found is None or found.revoked is not None or not {"subscribe", "administer"} & set(found.roles.split()):
        raise RevokedError(f"there is no key {owner[:40]!r} that may subscribe, or it is revoked")


def _key(row: Row[tuple[object, ...]]) -> Key:
    roles = cast("builtins.list[Role]", row.roles.split())
    return Key(row.id, row.name, frozenset(roles), row.created, row.revoked)
