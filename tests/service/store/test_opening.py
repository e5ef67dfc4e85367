"""Opening a store: its tables are made or brought up to date, and what cannot be opened is named in one line."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text

from tamis.errors import TamisError
from tamis.service.store import Store, StoreError
from tamis.service.store.database import Database
from tamis.service.store.tables import METADATA
from tests.service.store.made import subscribed


def test_what_was_written_is_there_when_the_store_is_opened_again(any_store_url: str) -> None:
    store = Store.open(any_store_url)
    made = subscribed(store)
    store.close()
    again = Store.open(any_store_url)
    assert again.subscriptions.get(made.id) == made
    assert again.url == any_store_url
    again.close()


def test_the_migrations_make_exactly_the_tables_that_the_code_uses(any_store_url: str) -> None:
    Store.open(any_store_url).close()
    engine = create_engine(any_store_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        assert compare_metadata(context, METADATA) == []
    engine.dispose()


def test_a_store_of_a_newer_tamis_is_refused_in_one_line(any_store_url: str) -> None:
    Store.open(any_store_url).close()
    engine = create_engine(any_store_url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(StoreError, match="written by a newer Tamis") as raised:
        Store.open(any_store_url)
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, TamisError)


@pytest.mark.timeout(60)
def test_many_who_open_a_new_store_at_once_all_get_it(any_store_url: str) -> None:
    opened: list[Store] = []
    threads = [threading.Thread(target=lambda: opened.append(Store.open(any_store_url))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
    subscribed(opened[0])
    assert all(store.subscriptions.count(None) == 1 for store in opened)
    for store in opened:
        store.close()


@pytest.mark.parametrize("url", ["", "store.sqlite", "mysql://host/db", "sqlite://", "sqlite:///:memory:", "oracle:x"])
def test_what_is_no_store_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="use sqlite:///path"):
        Store.open(url)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").write_text("no database" * 1_000)
    with pytest.raises(StoreError, match="not a database"):
        Store.open(f"sqlite:///{tmp_path}/store.sqlite")


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    with pytest.raises(StoreError, match="failed") as raised:
        Store.open("postgresql://tamis:hidden@127.0.0.1:1/tamis")
    assert "hidden" not in str(raised.value)


def test_nobody_else_may_read_the_file(store_url: str) -> None:
    store = Store.open(store_url)
    subscribed(store)
    folder = Path(store_url.removeprefix("sqlite:///")).parent
    assert {path.name for path in folder.iterdir()} == {"store.sqlite", "store.sqlite-wal", "store.sqlite-shm"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    store.close()


def test_sqlite_is_set_up_so_that_commits_survive(store: Store) -> None:
    with store._database.read() as connection:
        pragma = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
        }
    assert pragma == {"journal_mode": "wal", "synchronous": 2}


def test_writers_of_several_processes_take_turns(store: Store, store_url: str) -> None:
    code = (
        "import sys; from tamis.service.store import Store; from tests.service.store.made import subscribed\n"
        "store = Store.open(sys.argv[1])\n"
        "for _ in range(50): subscribed(store)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, store_url], cwd=Path(__file__).parents[3]) for _ in "ab"]
    for _ in range(50):
        subscribed(store)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert store.subscriptions.count(None) == store.subscriptions.revision == 150


@pytest.mark.parametrize("what", ["header", "page", "end"])
def test_a_damaged_file_is_refused_in_one_line_with_what_to_do(tmp_path: Path, what: str) -> None:
    url, file = f"sqlite:///{tmp_path}/store.sqlite", tmp_path / "store.sqlite"
    Store.open(url).close()
    content = bytearray(file.read_bytes())
    if what == "header":
        content[:100] = bytes(range(100))
    elif what == "page":
        content[4096:] = b"\xa5" * (len(content) - 4096)
    else:
        del content[5000:]
    file.write_bytes(content)
    with pytest.raises(
        StoreError, match="the file is damaged: stop what uses it and restore its whole folder"
    ) as raised:
        Store.open(url)
    assert "\n" not in str(raised.value)


def test_a_disk_that_cannot_be_written_is_told_as_such(tmp_path: Path) -> None:
    failed = sqlite3.OperationalError("disk I/O error")
    failed.sqlite_errorcode = sqlite3.SQLITE_IOERR | 19 << 8  # as SQLite's extended codes are: of its shared memory

    database = Database(f"sqlite:///{tmp_path}/store.sqlite")
    with (
        pytest.raises(
            StoreError, match=r"disk I/O error; may this user write there, is there room, and is the disk well\?"
        ),
        database.read(),
    ):
        raise failed
    database.close()
