"""Turns under names: one at a time of all that have opened a store, whatever dies."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tamis.service.store import Store, StoreError
from tests.service.store.made import break_connections_with_locks

TAKING = """
import sys
from tamis.service.store import Store
store = Store.open(sys.argv[1])
print(store.turns.take("k"), flush=True)
sys.stdin.read()
"""


def test_a_turn_is_anothers_when_it_is_given_back(any_store: Store) -> None:
    command = [sys.executable, "-c", TAKING, any_store.url]
    assert any_store.turns.take("k")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "False\n"
        other.kill()
    any_store.turns.give_back("k")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert not any_store.turns.take("k")
        assert any_store.turns.take("another")
        other.kill()
        other.wait()
    # The server notices after a moment that a process is gone.
    end = time.monotonic() + 60
    while not any_store.turns.take("k"):
        assert time.monotonic() < end


def test_a_turn_is_had_once_within_a_process_too(any_store: Store) -> None:
    assert any_store.turns.take("k")
    assert not any_store.turns.take("k")
    any_store.turns.give_back("k")
    assert any_store.turns.take("k")
    any_store.turns.close()
    assert any_store.turns.take("k"), "what is closed holds nothing"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES])
def test_turns_that_cannot_be_had_are_a_fault_of_the_store(
    store: Store, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refused)
        with pytest.raises(StoreError, match=f"the lock cannot be taken: {os.strerror(number)}"):
            store.turns.take("k")
    assert store.turns.take("k")


@pytest.mark.parametrize("any_store_url", ["postgresql"], indirect=True)
def test_after_a_connection_that_broke_turns_are_had_over_another(any_store: Store) -> None:
    assert any_store.turns.take("k")
    break_connections_with_locks(any_store.url)
    any_store.turns.give_back("k")
    assert any_store.turns.take("k")
    any_store.turns.give_back("k")
