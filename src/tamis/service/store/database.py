"""Database of the store: connections, transactions, errors, storable texts, bulk inserts and migrations, for SQLite and
PostgreSQL.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, Table, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tamis.absence import Absence
from tamis.durable import sqlite_remedy
from tamis.errors import TamisError

# Errors of the store, each in one line that a user can act on.


class StoreError(TamisError):
    """Store that cannot be opened, reached or written, or change that its rows do not allow."""


class StoreFailedError(StoreError):
    """Failure of the database. Names the database and its user: for logs, not for clients of the service."""


class StoreAwayError(StoreFailedError):
    """Database that does not answer, or cannot write for now: a retry may succeed."""


class TextError(TamisError):
    """Text that no database can store. The fault is the sender's, not the store's."""


class RevokedError(StoreError):
    """Owner of a subscription, present or future, whose key is revoked or does not exist."""


class TicketError(StoreError):
    """Ticket that is no longer valid: the subscription has another one by now."""


class NotFoundError(StoreError):
    """Row that does not exist, or has ended for good."""


class TooManyError(StoreError):
    """Limit: the owner has as many as are allowed."""


def warn(logger: logging.Logger, failed: str, error: TamisError) -> None:
    """Logs a failure that is retried. An unreachable store is logged once, by the store itself."""
    if not isinstance(error, StoreAwayError):
        logger.warning("%s, and is tried again: %s", failed, error)


# Texts that both databases can store: PostgreSQL has no NUL in a text, and neither has a lone surrogate.

LARGEST = (1 << 63) - 1


def is_storable(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def require_storable(text: str, what: str) -> str:
    if not is_storable(text):
        raise TextError(f"{what}: a text with a NUL or with half a surrogate pair cannot be kept")
    return text


def made_storable(text: str) -> str:
    """Text with unstorable characters escaped, for what is kept only to be looked at."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def within(number: int) -> int:
    """Cursor as an int64: one beyond all positions stays beyond all positions."""
    return max(-1, min(number, LARGEST))


_LOG: Final = logging.getLogger("tamis.service")

_BUSY_MILLISECONDS = 30_000
_POOL = {"pool_size": 16, "max_overflow": 48, "pool_timeout": 30}
# Connections: a PostgreSQL server allows a hundred by default, and every service has two processes.
_POSTGRES_POOL = {"pool_size": 8, "max_overflow": 12, "pool_timeout": 30}
# Keepalive: a server that is gone silently is noticed in half a minute.
_POSTGRES = {
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_SCHEMES = ("sqlite", "postgresql")
# Values per statement: SQLite takes 32,766; each count is compiled anew, so most pieces have one size.
_VALUES = 1_000

T = TypeVar("T")


class Database:
    """Connection pool of SQLite or PostgreSQL.

    `read` and `write` are one transaction each: what they enclose happens whole or not at all, also if the process is
    killed. On SQLite, writers of one process queue here, since the database would have them poll for their turn.
    """

    def __init__(self, url: str) -> None:
        self.url = _understood(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._writing = threading.Lock() if self.is_sqlite else nullcontext()
        self.engine = _sqlite(self.url) if self.is_sqlite else _postgresql(self.url)
        # Rows in bulk go past SQLAlchemy to the driver.
        driver = self.engine.dialect.loaded_dbapi
        self._driver_error: type[Exception] = driver.Error
        self._away: tuple[type[Exception], ...] = (driver.OperationalError, driver.InterfaceError)
        self._absence = Absence(f"the store {self.name}", _LOG)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self.explained(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with self.explained(), self._writing, self.engine.connect() as plain:
            connection = plain.execution_options(tamis_writes=True)
            with connection.begin():
                yield connection

    def close(self) -> None:
        self.engine.dispose()

    @property
    def name(self) -> str:
        """Address without its password."""
        return self.url.render_as_string(hide_password=True)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turns the database's own errors into one line, without the statement and its values, which may be secret."""
        try:
            yield
        except (DBAPIError, self._driver_error) as error:
            own = getattr(error, "orig", error)
            reason = " ".join(str(own).split())
            told = f"{reason}{sqlite_remedy(own)}"
            kind = StoreFailedError
            if isinstance(own, self._away) and not _is_conflict(own):
                kind = StoreAwayError
                self._absence.missed(told)
            raise kind(f"the store {self.name} failed: {told}") from error
        except PoolTimeoutError as error:
            raise StoreAwayError(f"the store {self.name} is too busy") from error
        else:
            self._absence.met()


def pieces(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Splits long lists of values into pieces that one statement can take."""
    for start in range(0, len(values), _VALUES):
        yield values[start : start + _VALUES]


def _is_conflict(error: BaseException) -> bool:
    """True if two transactions conflicted: PostgreSQL answers so, and one of them may retry."""
    return str(getattr(error, "sqlstate", None) or "").startswith("40")


def _understood(url: str) -> URL:
    try:
        parsed = make_url(url)
        scheme = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        scheme = ""
    if scheme not in _SCHEMES:
        raise StoreError(f"{url}: no store; use sqlite:///path/store.sqlite or postgresql+psycopg://user@host/database")
    if scheme == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise StoreError(f"{url}: a store is a file, so that it survives; use sqlite:///path/store.sqlite")
        return parsed
    return parsed.set(drivername="postgresql+psycopg")


def _sqlite(url: URL) -> Engine:
    path = Path(str(url.database))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # It holds webhooks' secrets. The files that SQLite puts beside it take over its mode.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(f"{path}: the store cannot be opened: {error.strerror}") from error
    engine = create_engine(url, **_POOL)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver would begin transactions by itself, and later than meant; `_begin_sqlite` does it instead.
    connection.isolation_level = None
    # With the default, a checkpoint would come after every batch of matches: they touch pages all over their index.
    for pragma in (
        f"busy_timeout = {_BUSY_MILLISECONDS}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "cache_size = -65536",
        "temp_store = MEMORY",
        "wal_autocheckpoint = 16384",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that first reads and then writes fails if another one wrote in between: writers lock at once.
    writes = connection.get_execution_options().get("tamis_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgresql(url: URL) -> Engine:
    return create_engine(url, pool_pre_ping=True, connect_args=_POSTGRES, **_POSTGRES_POOL)


# Migrations, which come with the package, bring a database to the tables of this version.

_FOLDER = Path(__file__).parent / "migrations"
# Number of the advisory lock for migrations; the same in every Tamis, so that two services that start at once migrate
# in turn.
_POSTGRES_LOCK = 0x7A315


def migrate(database: Database) -> None:
    """Migrates a database; does nothing if it is up to date, and refuses one that a newer Tamis has changed."""
    config = alembic_config()
    scripts = ScriptDirectory.from_config(config)
    newest = scripts.get_current_head()
    with database.read() as connection:
        if _revision(connection) == newest:
            return
    with database.write() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _POSTGRES_LOCK})
        revision = _revision(connection)
        if revision is not None and revision not in {script.revision for script in scripts.walk_revisions()}:
            raise StoreError(
                f"{database.name}: written by a newer Tamis (revision {revision}); use that one, or another store"
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def alembic_config() -> Config:
    config = Config()
    # The file format of these settings has % for its own purposes.
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


# Bulk inserts, by the fastest way of each database: prepared once on SQLite, COPY on PostgreSQL.


def insert_rows(
    connection: Connection, table: Table, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Inserts rows as the database itself stores them (timestamps as integers), with a value for each of `columns`."""
    names = ", ".join(f'"{name}"' for name in columns)
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        places = ", ".join("?" * len(columns))
        driver.executemany(f'INSERT INTO "{table.name}" ({names}) VALUES ({places})', rows)
        return
    with driver.cursor() as cursor, cursor.copy(f'COPY "{table.name}" ({names}) FROM STDIN (FORMAT BINARY)') as copy:
        copy.set_types([_POSTGRES_TYPES[table.c[name].type.__class__.__name__] for name in columns])
        for row in rows:
            copy.write_row(row)


_POSTGRES_TYPES = {
    "Text": "text",
    "LargeBinary": "bytea",
    "BigInteger": "int8",
    "Moment": "int8",
    "Integer": "int4",
    "Boolean": "bool",
}
