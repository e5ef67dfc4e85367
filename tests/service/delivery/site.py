"""A server on this machine, to read notifications from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import httpx
import uvicorn
from fastapi import FastAPI

from tamis.service.http.notifications import router
from tamis.service.http.service import Service
from tamis.service.intake import problems
from tamis.service.store import NewSubscription, Role, Store, Subscription
from tamis.service.store.store import FollowedSchema
from tests.service.delivery.made import LATER, Running, Told


@dataclass
class Site:
    """A server on this machine with delivery's routes only."""

    running: Running
    http: httpx.AsyncClient
    port: int

    def key(self, *roles: Role) -> tuple[str, dict[str, str]]:
        key, secret = self.running.store.keys.create("test", roles)
        return key.id, {"Authorization": f"Bearer {secret}"}

    def subscribe(self, owner: str = "", **fields: Any) -> tuple[Subscription, dict[str, str]]:
        new = NewSubscription(owner=owner, text="price < 10", filter="price < 10", expires=LATER, **fields)
        made, ticket = self.running.store.subscriptions.create(new)
        return made, {"Tamis-Ticket": ticket}


@asynccontextmanager
async def site(store: Store, channel: Told | None = None, **settings: Any) -> AsyncIterator[Site]:
    async with Running(store, channel, **settings) as running:
        app = FastAPI()
        app.include_router(router)
        problems.install(app)
        nothing = cast(Any, None)
        followed = FollowedSchema(store)
        app.state.service = Service(running.settings, store, nothing, running.delivery, nothing, followed)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="websockets-sansio"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            yield Site(running, http, port)
        await running.delivery.stop()
        server.should_exit = True
        await serving


async def next_event(lines: AsyncIterator[str]) -> dict[str, str]:
    """The fields of the next server-sent event, comments left out."""
    fields: dict[str, str] = {}
    async for line in lines:
        if not line and fields:
            return fields
        name, _, value = line.partition(": ")
        if line and name:
            fields[name] = value
    raise EOFError
