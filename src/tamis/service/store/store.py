"""Store as a whole: the database with its parts, their locks, and the schema that processes follow in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock

from tamis.schema import Schema
from tamis.service.base.offering import serving_schema
from tamis.service.store.advertisements_and_backtests import Advertisements, Backtests
from tamis.service.store.database import Database, migrate
from tamis.service.store.delivery_state import DeadLetters, Deliveries, Progress
from tamis.service.store.joins import Joins
from tamis.service.store.keys import Keys
from tamis.service.store.locks import Locks, StoreLock
from tamis.service.store.notifications import Notifications
from tamis.service.store.schemas import Schemas
from tamis.service.store.segments import Segments
from tamis.service.store.subscriptions import Subscriptions


class Store:
    """Durable state except events: one database, SQLite or PostgreSQL, shared by any number of threads and processes.

    Every method of its parts is one transaction: when it returns, its changes are on disk, and when the process is
    killed before, none is. Each part has the rows of one concern.
    """

    def __init__(self, database: Database, url: str, matches: Path | None = None) -> None:
        self.url = url
        self.keys = Keys(database)
        self.subscriptions = Subscriptions(database)
        self.notifications = Notifications(database, Segments(database, matches))
        self.dead_letters = DeadLetters(database)
        self.schemas = Schemas(database)
        self.backtests = Backtests(database)
        self.advertisements = Advertisements(database)
        self.deliveries = Deliveries(database)
        self.progress = Progress(database)
        self.joins = Joins(database)
        self._locks = Locks(database)
        self._database = database

    @classmethod
    def open(cls, url: str, matches: Path | None = None) -> Store:
        """`sqlite:///path/store.sqlite` or `postgresql+psycopg://user@host/database`, brought up to date first.

        `matches`: the folder of the match log, which all services of the store must see; without one it is `matches/`
        beside the file of SQLite, and PostgreSQL has all of it in its rows.
        """
        database = Database(url)
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise
        if matches is None and database.is_sqlite:
            matches = Path(str(database.url.database)).absolute().parent / "matches"
        return cls(database, url, matches)

    def lock(self, name: str) -> StoreLock:
        """Lock of this name, not held yet: one of all threads and processes on this store can hold it."""
        return StoreLock(self._locks, name)

    def close(self) -> None:
        self._locks.close()
        self._database.close()


# Schema that a process serves events under, followed in the store.


class FollowedSchema:
    """Newest schema of the store, as last read: its version, 0 where there is none, and the serving schema.

    Both are replaced at once, so `serving` gives them together. An extension only adds: an older schema reads every
    filter and event of its time as newer ones do. Safe from any thread.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        version, form = store.schemas.current() or (0, None)
        # The version, and the serving schema: the user's, extended by what CloudEvents carry.
        self.serving: tuple[int, Schema] = (
            version,
            serving_schema(None if form is None else Schema.from_dict(form)),
        )

    @property
    def version(self) -> int:
        return self.serving[0]

    @property
    def schema(self) -> Schema:
        """Serving schema."""
        return self.serving[1]

    def refresh(self) -> bool:
        """Reads the store's newest schema; returns False if it was known."""
        with self._lock:
            if self._store.schemas.newest() == self.serving[0]:
                return False
            version, form = self._store.schemas.current() or (0, None)
            self.serving = version, serving_schema(None if form is None else Schema.from_dict(form))
            return True

    def grow(self, larger: Callable[[int, Schema], Schema]) -> bool:
        """Stores the extension that `larger` makes of the store's schema; returns False if that adds nothing.

        It is given the newest version and the user's schema; where there is none, 0 and the serving schema with its
        single event type. StoreError: another process was quicker, and `larger` has to see what that one made.
        """
        with self._lock:
            version, form = self._store.schemas.current() or (0, None)
            known = serving_schema(None) if form is None else Schema.from_dict(form)
            grown = larger(version, known)
            serving = serving_schema(grown)
            if grown == known:
                self.serving = version, serving
                return False
            self.serving = self._store.schemas.add(grown.to_dict(), after=version), serving
            return True
