"""Bringing a database to the tables of this version, with the migrations that come with the package."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from tamis.service.store.database import Database
from tamis.service.store.errors import StoreError

_FOLDER = Path(__file__).parent / "migrations"
# Any number will do, as long as every Tamis uses the same: two services that start at once migrate one by one.
_POSTGRES_LOCK = 0x7A315


def migrate(database: Database) -> None:
    """Nothing is done to a database that is up to date; one that a newer Tamis has changed is refused."""
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
