"""The store as a whole: everything that must outlive the processes, but for the events themselves."""

from __future__ import annotations

from tamis.service.store.advertisements import Advertisements, Backtests
from tamis.service.store.database import Database, migrate
from tamis.service.store.dead_letters import DeadLetters, Deliveries, Progress
from tamis.service.store.joins import Joins
from tamis.service.store.keys import Keys
from tamis.service.store.locks import Locks, StoreLock
from tamis.service.store.notifications import Notifications
from tamis.service.store.schemas import Schemas
from tamis.service.store.subscriptions import Subscriptions


class Store:
    """One database, SQLite or PostgreSQL, shared by any number of threads and processes.

    Every method of its parts is one transaction: when it returns, what it did is on disk, and when the process is
    killed before, nothing of it is. Each part has the rows of one concern.
    """

    def __init__(self, database: Database, url: str) -> None:
        self.url = url
        self.keys = Keys(database)
        self.subscriptions = Subscriptions(database)
        self.notifications = Notifications(database)
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
    def open(cls, url: str) -> Store:
        """`sqlite:///path/store.sqlite` or `postgresql+psycopg://user@host/database`, brought up to date first."""
        database = Database(url)
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise
        return cls(database, url)

    def lock(self, name: str) -> StoreLock:
        """The lock of this name, which nobody holds yet: of all threads and processes on this store, one can."""
        return StoreLock(self._locks, name)

    def close(self) -> None:
        self._locks.close()
        self._database.close()
