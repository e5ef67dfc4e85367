"""Locks on the store as a whole: what only one process may do at a time, on whichever host."""

from __future__ import annotations

import fcntl
import threading
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path
from typing import Final, Literal, Protocol

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tamis.service.store.database import Database
from tamis.service.store.errors import StoreError

Name = Literal["pipeline", "pushing"]

# Any numbers will do, as long as every Tamis uses the same.
_NUMBERS: Final[dict[Name, int]] = {"pipeline": 1, "pushing": 2}
_ASK: Final = text("SELECT pg_try_advisory_lock(hashtext('tamis ' || current_schema()), :number)")
# A host that is gone says nothing: the server finds out by asking, and frees the lock.
_ASK_OFTEN: Final = text("SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3")


class StoreLock(Protocol):
    """A lock that is free again when its holder lets go of it or dies. Any thread may ask."""

    def hold(self) -> bool:
        """Takes the lock if it is free; whether it is held now. One that was held may have been lost."""

    def release(self) -> None: ...


class FileLock:
    """A lock beside the file of an SQLite store: the system frees it. It is not lost while its process lives."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entered = threading.Lock()
        self._file: BufferedWriter | None = None

    def hold(self) -> bool:
        with self._entered:
            if self._file is None:
                try:
                    file = self._path.open("ab")
                except OSError as error:
                    raise StoreError(f"{self._path}: the lock cannot be opened: {error.strerror}") from error
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    file.close()
                    return False
                self._file = file
            return True

    def release(self) -> None:
        with self._entered:
            file, self._file = self._file, None
            if file is not None:
                file.close()


class SessionLock:
    """An advisory lock of PostgreSQL, held by a connection of its own: lost with it, if the network or server fails."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        self._number = number
        self._entered = threading.Lock()
        self._connection: Connection | None = None
        self._held = False

    def hold(self) -> bool:
        with self._entered:
            try:
                if self._connection is None:
                    self._connection = own_session(self._database)
                if self._held:
                    self._connection.execute(text("SELECT 1"))
                else:
                    self._held = bool(self._connection.execute(_ASK, {"number": self._number}).scalar_one())
            except (DBAPIError, PoolTimeoutError):
                self._let_go()
            return self._held

    def release(self) -> None:
        with self._entered:
            if self._connection is not None and self._held:
                # The server would notice by itself that the connection is closed, but a moment later.
                with suppress(DBAPIError):
                    self._connection.execute(text("SELECT pg_advisory_unlock_all()"))
            self._let_go()

    def _let_go(self) -> None:
        connection, self._connection, self._held = self._connection, None, False
        if connection is not None:
            with suppress(DBAPIError):
                connection.close()


def own_session(database: Database) -> Connection:
    """A connection to PostgreSQL that holds locks."""
    connection = database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    # Out of the pool: closed, it is closed in truth, and its locks with it.
    connection.detach()
    connection.execute(_ASK_OFTEN)
    return connection


def store_lock(database: Database, name: Name) -> StoreLock:
    """The lock of this name, which nobody holds yet."""
    if database.is_sqlite:
        return FileLock(Path(f"{database.url.database}.{name}"))
    return SessionLock(database, _NUMBERS[name])
