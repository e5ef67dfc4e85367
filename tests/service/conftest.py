"""Stores to test with: one on SQLite, and both kinds in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.postgres import Postgres, PostgresUnavailableError
from tamis.service.store import Store


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The one PostgreSQL server of a test run, started when the first test asks for it."""
    pytest.importorskip("psycopg", reason="the service extra is not installed")
    try:
        # Nothing here pulls the plug, only processes die: that needs no fsync.
        with Postgres(fsync=False) as server:
            yield server
    except PostgresUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/state/store.sqlite"


@pytest.fixture(params=["sqlite", "postgresql"])
def any_store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty database of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state/store.sqlite"
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """A store on SQLite."""
    opened = Store.open(store_url)
    yield opened
    opened.close()


@pytest.fixture
def any_store(any_store_url: str) -> Iterator[Store]:
    """The store's contract holds on both databases: a test that asks for this runs on each."""
    opened = Store.open(any_store_url)
    yield opened
    opened.close()
