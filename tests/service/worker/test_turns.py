"""Turns at matching, without Spark: what is started when, and what outlives a lost lock or a log that is away."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tamis.errors import PipelineError
from tamis.service.base.configuration import Settings
from tamis.service.store import Store, StoreAwayError
from tamis.service.worker import process as running
from tamis.service.worker import process as standby
from tamis.service.worker import turns
from tamis.service.worker.messages import Message, Turn
from tamis.service.worker.turns import Lock

AWAY = StoreAwayError("the store does not answer")
LOST = running.LockLostError("the connection to the store broke")


class Played:
    """Stand-ins for Spark, the query and the store, and what became of them.

    `locks` is what the store's lock says, one after the other; `looks` what is seen of the running query at each look:
    an error, or None. The process is asked to stop when `looks` have been used up, or `locks` have.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, locks: list[bool | Exception], looks: list[Exception | None]):
        self.locks, self.looks = locks, looks
        self.log = [True]
        self.stores: list[Exception] = []
        self.did: list[str] = []
        self.stopped = threading.Event()
        monkeypatch.setattr(turns, "_IDLE", 0.0)
        monkeypatch.setattr(standby, "Standby", lambda *_: self._said("Spark", self))
        monkeypatch.setattr(running, "ActivePipeline", lambda *_: self._said("query", Query(self)))
        monkeypatch.setattr(Store, "open", lambda *_: self._opened())

    def go(self, tmp_path: Path, **settings: Any) -> list[str]:
        given = Settings(**{"state": tmp_path, "log_url": "kafka://broker:9092/events", **settings})
        turns.take_turns(given, cast(Lock, None), self._hear, self.stopped)
        return self.did

    def next(self, left: list[Any]) -> Any:
        if not left:
            self.stopped.set()
            return None
        if isinstance(left[0], Exception):
            raise left.pop(0)
        return left.pop(0)

    def _opened(self) -> Any:
        if self.stores:
            raise self.stores.pop(0)
        return self

    def _said(self, what: str, made: Any) -> Any:
        self.did.append(what)
        return made

    def _hear(self, message: Message) -> None:
        if isinstance(message, Turn) and message.state == "waiting":
            self.did.append("waiting")

    # As the store, and its lock.
    def lock(self, _name: str) -> Any:
        return self

    def hold(self) -> bool:
        return bool(self.next(self.locks))

    def release(self) -> None:
        if not self.stopped.is_set():
            self.did.append("free")

    def close(self) -> None: ...

    # As what stands by.
    def keep_up(self) -> None:
        self.did.append("keeps up")

    def ask_spark(self) -> None: ...

    def log_answers(self) -> bool:
        return self.log.pop(0)

    def stop(self) -> None:
        self.did.append("end")


class Query:
    """Stands for a running query."""

    def __init__(self, played: Played) -> None:
        self._played = played

    def look_after(self) -> None:
        self._played.next(self._played.looks)

    def busy(self) -> float:
        return 0.0

    def stop(self) -> None:
        self._played.did.append("query ends")


Play = Callable[..., Played]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    return lambda locks, looks: Played(monkeypatch, locks, looks)


def test_who_waits_has_spark_ready_and_only_starts_the_query_when_its_turn_comes(play: Play, tmp_path: Path) -> None:
    did = play([False, False, True], [None]).go(tmp_path)
    assert did == ["waiting", "Spark", "keeps up", "query", "query ends", "end"]


@pytest.mark.parametrize("settings", [{"standby": "cold"}, {"log_url": ""}])
def test_spark_is_not_started_to_wait_where_that_is_not_wanted_or_of_no_use(
    play: Play, tmp_path: Path, settings: dict[str, str]
) -> None:
    did = play([False, False, True], [None]).go(tmp_path, **settings)
    assert did == ["waiting", "Spark", "query", "query ends", "end"]


def test_a_lost_lock_ends_the_query_and_not_spark(play: Play, tmp_path: Path) -> None:
    did = play([True, AWAY, AWAY, True], [None, LOST, None]).go(tmp_path)
    assert did == ["Spark", "query", "query ends", "keeps up", "keeps up", "query", "query ends", "end"]


def test_a_query_that_ends_because_the_store_is_away_is_begun_again_in_the_same_spark(
    play: Play, tmp_path: Path
) -> None:
    did = play([True, AWAY, True], [PipelineError("the query ended: StoreAwayError"), None]).go(tmp_path)
    assert did == ["Spark", "query", "query ends", "free", "query", "query ends", "end"]


def test_a_query_that_ends_because_the_log_is_away_is_begun_again_when_it_is_back(play: Play, tmp_path: Path) -> None:
    played = play([True, True, True], [PipelineError("the query ended: TimeoutException"), None])
    played.log = [False, False, True]
    assert played.go(tmp_path) == ["Spark", "query", "query ends", "free", "keeps up", "query", "query ends", "end"]


def test_a_query_that_ends_though_store_and_log_answer_ends_the_process(play: Play, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="a worker died"):
        play([True, True], [PipelineError("the query ended: a worker died")]).go(tmp_path)


def test_a_store_that_goes_away_while_spark_starts_ends_the_process(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(*_: object) -> None:
        raise AWAY

    played = play([True, AWAY], [])
    monkeypatch.setattr(standby, "Standby", half)
    with pytest.raises(StoreAwayError):
        played.go(tmp_path)


def test_a_store_that_is_away_at_the_start_is_waited_for(play: Play, tmp_path: Path) -> None:
    played = play([True], [None])
    played.stores = [AWAY, AWAY]
    assert played.go(tmp_path, store_url="postgresql+psycopg://db/tamis") == ["Spark", "query", "query ends", "end"]


def test_a_store_in_a_file_that_cannot_be_opened_ends_the_process(play: Play, tmp_path: Path) -> None:
    played = play([True], [None])
    played.stores = [AWAY]
    with pytest.raises(StoreAwayError):
        played.go(tmp_path)
