"""Turns under names: of all processes that have opened a store, one at a time does what is done under a name."""

from __future__ import annotations

import fcntl
import hashlib
import threading
from contextlib import suppress
from io import BufferedRandom
from pathlib import Path
from typing import Final, Protocol

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from tamis.service.store.database import Database
from tamis.service.store.errors import StoreError
from tamis.service.store.locks import own_session

_TAKE: Final = text("SELECT pg_try_advisory_lock(:number)")
_GIVE_BACK: Final = text("SELECT pg_advisory_unlock(:number)")


class _Places(Protocol):
    """Where turns are marked, each by a number, so that all processes see it. Whoever dies leaves no mark behind."""

    def mark(self, number: int) -> bool:
        """Whether the number was free, and is this process's now."""

    def unmark(self, number: int) -> None: ...

    def close(self) -> None: ...


class Turns:
    """Any thread may ask. Two names may have one number, and then wait for each other for nothing.

    There is nothing to clean up after a crash: a turn ends with the process that had it. On PostgreSQL it also ends
    with the connection that holds all turns of a process, which the process notices only by the next one it takes.
    """

    def __init__(self, places: _Places) -> None:
        self._places = places
        self._entered = threading.Lock()
        self._taken: set[int] = set()  # by this process, to which files and sessions would give them twice

    def take(self, name: str) -> bool:
        """Whether it is the caller's turn from now on, until it is given back."""
        number = _number(name)
        with self._entered:
            if number in self._taken or not self._places.mark(number):
                return False
            self._taken.add(number)
            return True

    def give_back(self, name: str) -> None:
        """Ends a turn that was taken."""
        number = _number(name)
        with self._entered:
            self._taken.discard(number)
            self._places.unmark(number)

    def close(self) -> None:
        """Ends all of them."""
        with self._entered:
            self._taken.clear()
            self._places.close()


class _InFile:
    """Beside the file of an SQLite store: a lock on one byte of a file that stays empty, far behind its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BufferedRandom | None = None

    def mark(self, number: int) -> bool:
        try:
            if self._file is None:
                self._file = self._path.open("a+b")
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            except (BlockingIOError, PermissionError):  # systems differ in which it is
                return False
        except OSError as error:
            raise StoreError(f"{self._path}: the lock cannot be taken: {error.strerror}") from error
        return True

    def unmark(self, number: int) -> None:
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, number)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class _InSession:
    """Advisory locks of PostgreSQL, all held by one connection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None

    def mark(self, number: int) -> bool:
        try:
            with self._database.explained():
                if self._connection is None:
                    self._connection = own_session(self._database)
                return bool(self._connection.execute(_TAKE, {"number": number}).scalar_one())
        except StoreError:
            self.close()
            raise

    def unmark(self, number: int) -> None:
        if self._connection is not None:
            try:
                self._connection.execute(_GIVE_BACK, {"number": number})
            except DBAPIError:
                self.close()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(DBAPIError):
                connection.close()


def _number(name: str) -> int:
    # Not negative, as the place of a byte.
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) >> 2


def turns_of(database: Database) -> Turns:
    """The turns of all processes that have opened this database."""
    if database.is_sqlite:
        return Turns(_InFile(Path(f"{database.url.database}.turns")))
    return Turns(_InSession(database))
