"""One idempotency key at two services at the same moment, over one store and one log that they share."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import orjson
import pyarrow as pa
import pytest

from scripts.postgres import Postgres
from tamis.eventlog import EventLog, NotAppended, Receipt
from tamis.service.base.configuration import Settings
from tamis.service.http.acceptance import Acceptance, Accepted
from tamis.service.http.access import Caller
from tamis.service.http.service import Service
from tamis.service.store import Store
from tests.service.http.server import CHEAP, PlayedPipeline, make_service

Outcome = Accepted | BaseException


class SharedLog:
    """As the one on Kafka: it looks whether it knows a key, sends the events, and then writes the key."""

    shared = "log"

    def __init__(self, failing: int = 0) -> None:
        self.appended: list[int] = []
        self.sending = asyncio.Event()
        self.go_on = asyncio.Event()
        self.under_way = self.most_under_way = 0
        self._failing = failing
        self._known: Receipt | None = None

    async def append(
        self, ids: pa.Array, bodies: pa.Array, *, key: str | None = None, content: pa.Array | None = None
    ) -> Receipt:
        if self._known is not None:
            return replace(self._known, repeated=True)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        self.sending.set()
        await self.go_on.wait()
        self.under_way -= 1
        if self._failing:
            self._failing -= 1
            raise NotAppended("the log is away")
        self.appended.append(len(ids))
        self._known = Receipt(0, len(ids))
        return self._known


@pytest.fixture
def services(tmp_path: Path, postgres: Postgres) -> Iterator[list[Service]]:
    one = make_service(tmp_path / "one", PlayedPipeline(), Settings(store_url=postgres.new_database()))
    other = copy.copy(one)
    other.store = Store.open(one.store.url)
    spool = one.log
    yield [one, other]
    asyncio.run(spool.close())
    for service in (one, other):
        service.store.close()


def published(services: list[Service], log: SharedLog, times: int) -> list[Outcome]:
    """The same publish so many times, at either service in turn, all begun before the first has an answer."""

    async def publish(service: Service) -> Accepted:
        headers, body = {"content-type": "application/json"}, orjson.dumps([CHEAP])
        return await Acceptance(service).publish(headers, body, Caller(None, "127.0.0.1"), "k")

    async def together() -> list[Outcome]:
        for service in services:
            service.log = cast("EventLog", log)
        answers = [asyncio.create_task(publish(services[number % 2])) for number in range(times)]
        asked = [service.store.lock("publishing \0k") for service in services]
        await log.sending.wait()
        assert not any([await asyncio.to_thread(lock.hold) for lock in asked]), "it is somebody's turn"
        log.go_on.set()
        return await asyncio.gather(*answers, return_exceptions=True)

    return asyncio.run(together())


def test_a_key_at_two_services_at_once_publishes_once(services: list[Service]) -> None:
    log = SharedLog()
    answers = published(services, log, 6)
    assert log.appended == [1]
    assert log.most_under_way == 1
    assert sorted(answer.repeated for answer in answers if isinstance(answer, Accepted)) == [False, *[True] * 5]


def test_what_one_could_not_append_the_next_one_does(services: list[Service]) -> None:
    log = SharedLog(failing=1)
    answers = published(services, log, 4)
    assert [str(answer) for answer in answers if isinstance(answer, BaseException)] == ["the log is away"]
    assert log.appended == [1]
    assert sum(not answer.repeated for answer in answers if isinstance(answer, Accepted)) == 1
