"""A whole server without Spark: a real store, log and delivery in a folder, and a pipeline that the test plays."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import httpx
import uvicorn
from fastapi.testclient import TestClient

from tamis.eventlog import open_log
from tamis.service.app import create_app
from tamis.service.base.configuration import Settings
from tamis.service.base.offering import Algorithms, Offering
from tamis.service.delivery import Delivery
from tamis.service.http.service import Service
from tamis.service.serve import server_config
from tamis.service.store import Role, Store
from tamis.service.store.store import FollowedSchema
from tamis.service.worker import Batch, PipelineStatus, Supervisor

AUCTIONS: dict[str, Any] = {
    "domains": {"period": {"type": "enumerated", "values": ["XVI", "XVII", "XVIII"]}},
    "attributes": {
        "price": "float",
        "quantity": "integer",
        "title": "string",
        "opened": "timestamp",
        "period": "period",
    },
    "event_types": {
        "antiques": {"price": "mandatory", "quantity": "optional", "title": "optional", "period": "optional"},
        "lots": {"opened": "mandatory", "price": "optional"},
    },
}
CHEAP = {"event_type": ["antiques"], "price": 5.0, "title": "oak desk"}


class PlayedPipeline:
    """In the supervisor's place: the test says which state it is in and which batches there are."""

    def __init__(self) -> None:
        self._status = PipelineStatus("running", time.time())
        self._callbacks: list[Callable[[Batch], None]] = []
        self.started = self.stopped = 0

    def status(self) -> PipelineStatus:
        return self._status

    def on_batch(self, callback: Callable[[Batch], None]) -> None:
        self._callbacks.append(callback)

    async def start(self) -> None:
        self.started += 1

    async def stop(self) -> None:
        self.stopped += 1
        await asyncio.sleep(0)

    def become(self, **changes: Any) -> None:
        self._status = replace(self._status, **changes)

    def tell(self, batch: Batch) -> None:
        self.become(last=batch)
        for callback in self._callbacks:
            callback(batch)


@dataclass
class Server:
    """A server under test, and a client that talks to it."""

    service: Service
    pipeline: PlayedPipeline
    client: TestClient

    def key(self, *roles: Role) -> dict[str, str]:
        """The header of a new key."""
        _, secret = self.service.store.keys.create("test", roles)
        return {"Authorization": f"Bearer {secret}"}

    def subscribe(self, filter: str = "price < 10", headers: dict[str, str] | None = None, **more: Any) -> Any:
        answer = self.client.post("/v1/subscriptions", json={"filter": filter, **more}, headers=headers)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def publish(self, events: Any, **headers: str) -> httpx.Response:
        return self.client.post("/v1/events", json=events, headers=headers)


def make_service(
    folder: Path, pipeline: PlayedPipeline, settings: Settings, schema: dict[str, Any] = AUCTIONS
) -> Service:
    settings = replace(settings, state=folder)
    folder.mkdir(exist_ok=True)
    store = Store.open(settings.store)
    store.schemas.add(schema)
    followed = FollowedSchema(store)
    offering = Offering.named(settings.operators)
    return Service(
        settings,
        store,
        open_log(settings.log, write=True),
        Delivery(store, settings, followed, offering=offering),
        cast("Supervisor", pipeline),
        followed,
        offering,
        Algorithms.of(settings),
    )


@contextmanager
def over_http(service: Service) -> Iterator[int]:
    """The service behind the HTTP server that it has for users, on a port of this machine, which is given."""
    config = server_config(create_app(service), service.settings)
    config.port = 0
    server = uvicorn.Server(config)
    started = threading.Event()
    startup = server.startup

    async def tell(*arguments: Any, **more: Any) -> None:
        await startup(*arguments, **more)
        started.set()

    server.startup = tell  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert started.wait(30)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)
