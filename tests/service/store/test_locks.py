"""Locks of the store: one holder at a time, whatever dies."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from tamis.service.store import Store, StoreError
from tests.service.store.made import break_connections_with_locks

HOLDING = """
import sys
from tamis.service.store import Store
lock = Store.open(sys.argv[1]).lock("pushing")
print(lock.hold(), flush=True)
sys.stdin.read()
"""


def test_one_holds_a_lock_and_the_other_waits_for_it(any_store: Store) -> None:
    other = Store.open(any_store.url)
    mine, its = any_store.lock("pushing"), other.lock("pushing")
    assert mine.hold()
    assert mine.hold(), "held is held"
    assert not its.hold()
    assert other.lock("pipeline").hold(), "another lock is another"
    mine.release()
    assert its.hold()
    assert not mine.hold()
    its.release()
    other.close()


def test_a_process_that_is_killed_leaves_no_lock_behind(any_store: Store) -> None:
    command = [sys.executable, "-c", HOLDING, any_store.url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        lock = any_store.lock("pushing")
        assert not lock.hold()
        holder.kill()
        holder.wait()
    # The server frees it when it has noticed.
    assert any(lock.hold() for _ in range(1_000))
    lock.release()


def test_a_lock_that_cannot_be_asked_for_is_told_of_like_any_fault_of_the_store(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_files(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    lock = store.lock("pushing")
    monkeypatch.setattr(Path, "open", out_of_files)
    with pytest.raises(StoreError, match="the lock cannot be opened: Too many open files"):
        lock.hold()
    monkeypatch.undo()
    assert lock.hold()
    lock.release()


@pytest.mark.parametrize("any_store_url", ["postgresql"], indirect=True)
def test_a_lock_whose_connection_breaks_is_lost_and_can_be_taken_again(any_store: Store) -> None:
    lock, other = any_store.lock("pushing"), any_store.lock("pushing")
    assert lock.hold()
    break_connections_with_locks(any_store.url)
    assert other.hold()
    assert not lock.hold(), "it is noticed"
    other.release()
    assert lock.hold()
    lock.release()
