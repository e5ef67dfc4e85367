"""Locks of the store: one holder at a time, of threads, stores and processes, whatever dies."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.postgres import Postgres
from tamis.service.store import Store, StoreError
from tests.service.store.made import break_connections_with_locks

NAMES = ("pushing", "publishing \0a key of any sort: \N{SNOWMAN}")
HOLDING = """
import sys
from tamis.service.store import Store
lock = Store.open(sys.argv[1]).lock(sys.argv[2])
print(lock.hold(), flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process(store: Store, name: str = "pushing") -> Iterator[str]:
    """What a process is answered that asks for a lock; it is killed at the end."""
    command = [sys.executable, "-c", HOLDING, store.url, name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stores", ["one store", "two stores"])
def test_one_holds_a_lock_and_the_other_waits_for_it(any_store: Store, name: str, stores: str) -> None:
    other = any_store if stores == "one store" else Store.open(any_store.url)
    mine, its = any_store.lock(name), other.lock(name)
    assert mine.hold()
    assert mine.hold(), "held is held"
    assert not its.hold()
    its.release()
    assert not its.hold(), "only its holder frees it"
    assert other.lock("another").hold(), "another lock is another"
    mine.release()
    assert its.hold()
    assert not mine.hold()
    its.release()
    assert mine.hold()
    if other is not any_store:
        other.close()


def test_many_threads_over_two_stores_hold_it_one_at_a_time(any_store: Store) -> None:
    other = Store.open(any_store.url)
    inside, most = [0], []
    every = threading.Barrier(8)

    def work(store: Store) -> None:
        every.wait()
        for _ in range(25):
            lock = store.lock("pushing")
            while not lock.hold():
                time.sleep(0)  # lets the holder go on
            inside[0] += 1
            most.append(inside[0])
            inside[0] -= 1
            lock.release()

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, store) for store in (any_store, other) * 4]:
            done.result()
    other.close()
    assert most == [1] * 200


def test_one_lock_asked_for_by_many_threads_is_held_for_all_of_them(any_store: Store) -> None:
    lock = any_store.lock("pushing")
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(lambda _: lock.hold(), range(100)))


def test_a_store_that_closes_frees_its_own_locks_and_no_others(any_store: Store) -> None:
    other = Store.open(any_store.url)
    mine, its = any_store.lock("pushing"), other.lock("pipeline")
    assert mine.hold()
    assert its.hold()
    other.close()
    with another_process(any_store) as answer:
        assert answer == "False"
    assert any_store.lock("pipeline").hold()


def test_a_lock_of_a_store_that_was_closed_is_lost(any_store: Store) -> None:
    lock = any_store.lock("pushing")
    assert lock.hold()
    any_store.close()
    assert not lock.hold(), "it is noticed"
    assert lock.hold()


def test_a_process_that_is_killed_leaves_no_lock_behind(any_store: Store) -> None:
    lock = any_store.lock("pushing")
    with another_process(any_store) as answer:
        assert answer == "True"
        assert not lock.hold()
    # The server frees it when it has noticed.
    end = time.monotonic() + 60
    while not lock.hold():
        assert time.monotonic() < end
    with another_process(any_store) as answer:
        assert answer == "False"
    lock.release()
    with another_process(any_store) as answer:
        assert answer == "True"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES])
def test_a_lock_that_cannot_be_asked_for_is_a_fault_of_the_store(
    store: Store, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    lock = store.lock("pushing")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refused)
        with pytest.raises(StoreError, match=f"the lock cannot be taken: {os.strerror(number)}"):
            lock.hold()
    assert lock.hold()


@pytest.mark.parametrize("any_store_url", ["postgresql"], indirect=True)
def test_locks_whose_connection_breaks_are_lost_and_can_be_taken_again(any_store: Store) -> None:
    lock, same, another = (any_store.lock(name) for name in ("pushing", "pushing", "another"))
    assert lock.hold()
    assert another.hold()
    break_connections_with_locks(any_store.url)
    assert same.hold()
    assert not lock.hold(), "it is noticed"
    assert not another.hold(), "also of those that are free again"
    assert another.hold()
    same.release()
    assert lock.hold()


@pytest.mark.parametrize("any_store_url", ["postgresql"], indirect=True)
def test_a_lock_is_released_after_its_connection_broke(any_store: Store) -> None:
    lock = any_store.lock("pushing")
    assert lock.hold()
    break_connections_with_locks(any_store.url)
    lock.release()
    assert lock.hold()


def test_stores_in_two_schemas_of_a_database_have_locks_of_their_own(postgres: Postgres) -> None:
    url = postgres.new_database()
    one = Store.open(url)
    with one._database.write() as connection:
        connection.exec_driver_sql("CREATE SCHEMA another")
    other = Store.open(f"{url}?options=-csearch_path%3Danother")
    assert one.lock("pushing").hold()
    assert other.lock("pushing").hold()
    one.close()
    other.close()
