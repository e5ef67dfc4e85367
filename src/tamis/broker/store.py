"""Store of a broker's state (links, filters, clients, queues, batches seen): one SQLite file, written in transactions
that a crash undoes as a whole.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Final

from tamis.broker.settling import LinkRecord
from tamis.durable import sqlite_remedy
from tamis.errors import TamisError

FORMAT: Final = 1
NAME: Final = re.compile(r"[!-~]{1,200}")
_TABLES: Final = """
CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE overlay (one TEXT, other TEXT, age INTEGER, version INTEGER, standing INTEGER, PRIMARY KEY (one, other));
CREATE TABLE rows (hop TEXT, kind TEXT, text TEXT, PRIMARY KEY (hop, kind, text)) WITHOUT ROWID;
CREATE TABLE held (client TEXT, kind TEXT, id TEXT, text TEXT, PRIMARY KEY (client, kind, id)) WITHOUT ROWID;
CREATE TABLE clients (name TEXT PRIMARY KEY, published INTEGER) WITHOUT ROWID;
CREATE TABLE queue (hop TEXT, position INTEGER, events INTEGER, body BLOB, PRIMARY KEY (hop, position));
CREATE TABLE sent (hop TEXT PRIMARY KEY, position INTEGER, acknowledged INTEGER) WITHOUT ROWID;
CREATE TABLE received (hop TEXT PRIMARY KEY, epoch TEXT, position INTEGER) WITHOUT ROWID;
CREATE TABLE seen (origin TEXT PRIMARY KEY, epoch TEXT, highest INTEGER, below TEXT) WITHOUT ROWID;
CREATE TABLE dead (number INTEGER PRIMARY KEY, hop TEXT, position INTEGER, events INTEGER, reason TEXT, body BLOB);
"""


class BrokerStoreError(TamisError):
    """State of a broker that cannot be opened or written."""


class BrokerStore:
    """State of a broker that survives a crash. Writes are durable from the next `commit` on; one process has it at a
    time.

    `name` and `epoch` are given to the state when it is made: another epoch means that a broker began anew.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._db.isolation_level = None
        about = dict(self._db.execute("SELECT name, value FROM about"))
        if about["format"] != FORMAT:
            raise BrokerStoreError(f"this state is of format {about['format']}, and this Tamis knows {FORMAT}")
        self.name: str = about["broker"]
        self.epoch: str = about["epoch"]
        self._db.execute("BEGIN")

    @classmethod
    def open(cls, folder: Path | None, name: str | None = None) -> BrokerStore:
        """Opens the state in a folder, made if there is none; without a folder the state is kept in memory."""
        if name is not None and not NAME.fullmatch(name):
            raise BrokerStoreError(f"{name!r} is no name: 1 to 200 letters, digits and signs, without spaces")
        try:
            if folder is not None:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = ":memory:" if folder is None else str(folder / "broker.sqlite")
            connection = sqlite3.connect(file, timeout=1.0, check_same_thread=False)
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone()
                if not found:
                    for statement in _TABLES.strip().split("\n"):
                        connection.execute(statement)
                    made = [
                        ("format", FORMAT),
                        ("broker", name or f"broker-{secrets.token_hex(4)}"),
                        ("epoch", secrets.token_hex(8)),
                        ("number", 0),
                        ("dropped", 0),
                    ]
                    connection.executemany("INSERT INTO about VALUES (?, ?)", made)
            store = cls(connection)
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            remedy = "; is another broker using it?" if "locked" in str(error) else sqlite_remedy(error)
            raise BrokerStoreError(f"the broker's state in {folder} cannot be opened: {reason}{remedy}") from error
        if name is not None and store.name != name:
            store.close()
            raise BrokerStoreError(f"the state in {folder} is that of {store.name!r}, not of {name!r}")
        return store

    def commit(self) -> None:
        """Makes all writes up to now durable."""
        try:
            self._db.execute("COMMIT")
            self._db.execute("BEGIN")
        except sqlite3.Error as error:
            raise BrokerStoreError(f"the broker's state cannot be written: {error}") from error

    def close(self) -> None:
        """Closes the file; uncommitted writes are lost."""
        self._db.close()

    def after_crash(self) -> BrokerStore:
        """State as the next process finds it after a crash, for tests: without uncommitted writes."""
        self._db.execute("ROLLBACK")
        return BrokerStore(self._db)

    # The overlay.

    def records(self) -> list[LinkRecord]:
        found = self._db.execute("SELECT one, other, age, version, standing FROM overlay")
        return [LinkRecord(one, other, age, version, bool(standing)) for one, other, age, version, standing in found]

    def put_records(self, records: Iterable[LinkRecord]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO overlay VALUES (?, ?, ?, ?, ?)", map(astuple, records))

    # Filters: rows of neighbours, and filters of clients.

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Rows of filters: hop, kind, text."""
        yield from self._db.execute("SELECT hop, kind, text FROM rows ORDER BY hop, kind, text")

    def change_rows(self, hop: str, kind: str, added: Iterable[str], removed: Iterable[str]) -> None:
        drop = "DELETE FROM rows WHERE hop = ? AND kind = ? AND text = ?"
        self._db.executemany(drop, ((hop, kind, text) for text in removed))
        self._db.executemany("INSERT INTO rows VALUES (?, ?, ?)", ((hop, kind, text) for text in added))

    def held(self) -> Iterator[tuple[str, str, str, str]]:
        """Filters of clients: client, kind, id, text."""
        yield from self._db.execute("SELECT client, kind, id, text FROM held ORDER BY client, kind, id")

    def hold(self, client: str, kind: str, id: str, text: str) -> None:
        self._db.execute("INSERT INTO held VALUES (?, ?, ?, ?)", (client, kind, id, text))

    def let_go(self, client: str, kind: str, id: str) -> None:
        self._db.execute("DELETE FROM held WHERE client = ? AND kind = ? AND id = ?", (client, kind, id))

    # Clients, by the number of their last publish.

    def clients(self) -> dict[str, int]:
        return dict(self._db.execute("SELECT name, published FROM clients"))

    def put_client(self, name: str, published: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO clients VALUES (?, ?)", (name, published))

    def drop_client(self, name: str) -> None:
        self._db.execute("DELETE FROM clients WHERE name = ?", (name,))

    # Numbers of batches published here, and batches seen.

    def next_number(self) -> int:
        ((number,),) = self._db.execute("UPDATE about SET value = value + 1 WHERE name = 'number' RETURNING value")
        return int(number)

    def seen(self) -> Iterator[tuple[str, str, int, str]]:
        yield from self._db.execute("SELECT origin, epoch, highest, below FROM seen")

    def put_seen(self, origin: str, epoch: str, highest: int, below: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)", (origin, epoch, highest, below))

    # Queues of messages to hops, in order of position.

    def queued(self) -> dict[str, tuple[int, int, int, int, int]]:
        """Queues by hop: last position, acknowledged position, and messages, events and bytes that wait."""
        found = self._db.execute(
            "SELECT s.hop, s.position, s.acknowledged, COUNT(q.position), COALESCE(SUM(q.events), 0), "
            "COALESCE(SUM(LENGTH(q.body)), 0) FROM sent s LEFT JOIN queue q ON q.hop = s.hop GROUP BY s.hop"
        )
        return {
            hop: (last, acknowledged, count, events, size) for hop, last, acknowledged, count, events, size in found
        }

    def enqueue(self, hop: str, position: int, events: int, body: bytes) -> None:
        self._db.execute("INSERT INTO queue VALUES (?, ?, ?, ?)", (hop, position, events, body))
        self._db.execute(
            "INSERT INTO sent VALUES (?, ?, 0) ON CONFLICT (hop) DO UPDATE SET position = excluded.position",
            (hop, position),
        )

    def waiting(self, hop: str, after: int) -> tuple[int, int, bytes] | None:
        """First message after a position: its position, events and body."""
        found: tuple[int, int, bytes] | None = self._db.execute(
            "SELECT position, events, body FROM queue WHERE hop = ? AND position > ? ORDER BY position LIMIT 1",
            (hop, after),
        ).fetchone()
        return found

    def acknowledge(self, hop: str, position: int) -> tuple[int, int, int]:
        """Deletes everything up to a position; returns how many messages, events and bytes that was."""
        gone = self._db.execute(
            "SELECT COUNT(*), COALESCE(SUM(events), 0), COALESCE(SUM(LENGTH(body)), 0) FROM queue "
            "WHERE hop = ? AND position <= ?",
            (hop, position),
        ).fetchone()
        self._db.execute("DELETE FROM queue WHERE hop = ? AND position <= ?", (hop, position))
        self._db.execute("UPDATE sent SET acknowledged = ? WHERE hop = ?", (position, hop))
        return int(gone[0]), int(gone[1]), int(gone[2])

    def drop_oldest(self, hop: str, reason: str, keep: int) -> tuple[int, int, int] | None:
        """Turns the oldest waiting message into a dead letter; returns its position, events and bytes, or None.

        Of the dead letters the newest `keep` keep their content.
        """
        found = self._db.execute(
            "SELECT position, events, LENGTH(body) FROM queue WHERE hop = ? ORDER BY position LIMIT 1", (hop,)
        ).fetchone()
        if found is None:
            return None
        self._db.execute(
            "INSERT INTO dead (hop, position, events, reason, body) "
            "SELECT hop, position, events, ?, body FROM queue WHERE hop = ? AND position = ?",
            (reason, hop, found[0]),
        )
        self._db.execute("DELETE FROM queue WHERE hop = ? AND position = ?", (hop, found[0]))
        self._db.execute("DELETE FROM dead WHERE number <= (SELECT MAX(number) FROM dead) - ?", (keep,))
        self._db.execute("UPDATE about SET value = value + ? WHERE name = 'dropped'", (found[1],))
        return int(found[0]), int(found[1]), int(found[2])

    def drop_queue(self, hop: str, reason: str, keep: int) -> int:
        """Turns a hop's whole queue into dead letters; returns the number of their events.

        Positions go on from where they were: the hop may come back, and remembers how far it got.
        """
        dropped = 0
        while (gone := self.drop_oldest(hop, reason, keep)) is not None:
            dropped += gone[1]
        self._db.execute("UPDATE sent SET acknowledged = position WHERE hop = ?", (hop,))
        return dropped

    def discard_queue(self, hop: str) -> None:
        """Deletes a hop's queue, without dead letters."""
        self._db.execute("DELETE FROM queue WHERE hop = ?", (hop,))
        self._db.execute("DELETE FROM sent WHERE hop = ?", (hop,))

    def dropped(self) -> int:
        """Number of events that ever became dead letters."""
        ((count,),) = self._db.execute("SELECT value FROM about WHERE name = 'dropped'")
        return int(count)

    def dead(self, most: int = 100) -> list[tuple[str, int, int, str, bytes]]:
        """Newest dead letters, newest first: hop, position, events, reason and message."""
        return self._db.execute(
            "SELECT hop, position, events, reason, body FROM dead ORDER BY number DESC LIMIT ?", (most,)
        ).fetchall()

    # Positions received over links.

    def received(self) -> dict[str, tuple[str, int]]:
        """For each hop the sender's epoch, and the last position received."""
        found = self._db.execute("SELECT hop, epoch, position FROM received")
        return {hop: (epoch, position) for hop, epoch, position in found}

    def put_received(self, hop: str, epoch: str, position: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO received VALUES (?, ?, ?)", (hop, epoch, position))
