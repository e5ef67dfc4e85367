"""Named locks of a store (leader election, mutual exclusion): held by one thread or process of all that opened it."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import struct
import threading
from contextlib import suppress
from io import BufferedRandom
from pathlib import Path
from typing import Final, Protocol

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from tamis.service.store.database import Database, StoreError

# Lock number; the schema is part of it: one database may have several stores.
_NUMBER: Final = "hashtextextended('tamis ' || current_schema(), :number)"
_TAKE: Final = text(f"SELECT pg_try_advisory_lock({_NUMBER})")
_GIVE_BACK: Final = text(f"SELECT pg_advisory_unlock({_NUMBER})")
_ALIVE: Final = text("SELECT 1")
# Keepalive: the server notices hosts that are gone, and frees their locks.
_ASK_OFTEN: Final = text("SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3")
_FLOCK: Final = struct.Struct("hhqqi0q")  # type, whence, start, length, process
_TAKEN: Final = (errno.EAGAIN, errno.EACCES)  # systems differ in which it is


class _Marks(Protocol):
    """Marks by number, seen by all processes on the store, and cleared by the death of their process."""

    def alive(self) -> bool:
        """Returns False if the marks that were set are lost; then none is set any more."""

    def set(self, number: int) -> bool:
        """Sets a mark; returns False if another process has set it."""

    def clear(self, number: int) -> None: ...

    def close(self) -> None:
        """Clears all marks; reusable."""


class Locks:
    """Holders of a store's locks in this process: which object holds which number.

    A number that has a holder here is marked in the store's file or PostgreSQL session, which would give it to this
    process a second time: so the holders are asked first, then the marks.
    """

    def __init__(self, database: Database) -> None:
        self._marks: _Marks = _FileMarks(database) if database.is_sqlite else _SessionMarks(database)
        self._entered = threading.Lock()
        self._holders: dict[int, StoreLock] = {}

    def hold(self, lock: StoreLock) -> bool:
        with self._entered:
            if not self._marks.alive():
                self._holders.clear()
            holder = self._holders.get(lock.number)
            if lock.taken:
                lock.taken = holder is lock
            elif holder is None and self._marks.set(lock.number):
                self._holders[lock.number] = lock
                lock.taken = True
            return lock.taken

    def release(self, lock: StoreLock) -> None:
        with self._entered:
            lock.taken = False
            if self._holders.get(lock.number) is lock:
                del self._holders[lock.number]
                self._marks.clear(lock.number)

    def close(self) -> None:
        """Frees all of them."""
        with self._entered:
            self._holders.clear()
            self._marks.close()


class StoreLock:
    """Lock of a name: one object of all with this name and store holds it, in whichever process.

    Nothing needs cleaning up after a crash: a lock is free when its process has died or its store was closed. On
    PostgreSQL, the connection that holds all locks of a store may break, and they are lost. Thread-safe. Two names may
    have one number, and then exclude each other needlessly.
    """

    def __init__(self, locks: Locks, name: str) -> None:
        self._locks = locks
        # Not negative, as the place of a byte.
        self.number = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) >> 2
        self.taken = False  # as far as was seen when it was asked for last; belongs to `Locks`

    def hold(self) -> bool:
        """Takes the lock if it is free; returns True if it is held now.

        Returns False once if the lock was held and has been lost since, even if nobody else has it.
        """
        return self._locks.hold(self)

    def release(self) -> None:
        """Frees the lock if it is held."""
        self._locks.release(self)


class _FileMarks:
    """Marks beside an SQLite file: locks on one byte each of a file that stays empty, far behind its end.

    They are the kind that belongs to the opened file (OFD), not to the process: another opening of the file within this
    process is refused like any other process, and closes without freeing these.
    """

    def __init__(self, database: Database) -> None:
        self._path = Path(f"{database.url.database}.locks")
        self._file: BufferedRandom | None = None

    def alive(self) -> bool:
        return True

    def set(self, number: int) -> bool:
        try:
            if self._file is None:
                self._file = self._path.open("a+b")
            self._lock(self._file, fcntl.F_WRLCK, number)
        except OSError as error:
            if self._file is not None and error.errno in _TAKEN:
                return False
            raise StoreError(f"{self._path}: the lock cannot be taken: {error.strerror}") from error
        return True

    def clear(self, number: int) -> None:
        if self._file is not None:
            self._lock(self._file, fcntl.F_UNLCK, number)

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _lock(self, file: BufferedRandom, kind: int, number: int) -> None:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _FLOCK.pack(kind, os.SEEK_SET, number, 1, 0))


class _SessionMarks:
    """Marks in PostgreSQL: advisory locks, all of one connection, and lost with it if the network or server fails."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None

    def alive(self) -> bool:
        if self._connection is not None:
            try:
                self._connection.execute(_ALIVE)
            except DBAPIError:
                self.close()
        return self._connection is not None

    def set(self, number: int) -> bool:
        try:
            with self._database.explained():
                if self._connection is None:
                    self._connection = self._connected()
                return bool(self._connection.execute(_TAKE, {"number": number}).scalar_one())
        except StoreError:
            self.close()
            raise

    def clear(self, number: int) -> None:
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

    def _connected(self) -> Connection:
        connection = self._database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        # Out of the pool: closed, it is closed in truth, and its locks with it.
        connection.detach()
        connection.execute(_ASK_OFTEN)
        return connection
