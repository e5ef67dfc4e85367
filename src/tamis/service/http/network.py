"""Route for the status of the broker network that the server is part of: its links, and the traffic of each."""

from __future__ import annotations

from typing import Any, Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from tamis.service.http.access import Subscriber
from tamis.service.http.service import Serving
from tamis.service.intake.problems import responses

router = APIRouter(prefix="/v1/network", tags=["operations"])

_LINK: Final[dict[str, Any]] = {
    "name": "north",
    "address": "10.0.0.7:7070",
    "state": "open",
    "in_use": True,
    "subscriptions_in": 120,
    "subscriptions_out": 45,
    "advertisements_in": 1,
    "advertisements_out": 1,
    "events_in": 1800,
    "events_out": 950,
    "bytes_in": 320000,
    "bytes_out": 180000,
    "unwanted": 0,
    "queue_events": 0,
    "queue_bytes": 0,
    "queue_full": False,
    "unsettled": 0,
    "sessions": 1,
    "resets": 0,
}


class NetworkLinkForm(BaseModel):
    """Link to a neighbour, counted since the server's start; in: from the neighbour, out: to it."""

    name: str
    address: str | None = Field(description="Address of a neighbour that this server connects to; for administrators")
    state: Literal["open", "connected", "down"]
    in_use: bool = Field(description="False: spare, since it would close a cycle; used if another goes down")
    subscriptions_in: int = Field(description="Filters received from the neighbour")
    subscriptions_out: int = Field(description="Filters sent to the neighbour")
    advertisements_in: int
    advertisements_out: int
    events_in: int
    events_out: int
    bytes_in: int
    bytes_out: int
    unwanted: int = Field(description="Events received in vain: no subscription here or beyond matched")
    queue_events: int = Field(description="Events queued for the neighbour")
    queue_bytes: int
    queue_full: bool
    unsettled: int = Field(description="Changes of filters not yet applied by all brokers beyond this link")
    sessions: int = Field(description="Connections so far")
    resets: int = Field(description="Connections closed because an answer was late")


class NetworkForm(BaseModel):
    """Broker of the server and its links; without a network, `linked` is False and the rest is left out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "linked": True,
                    "name": "south",
                    "policy": "covering",
                    "brokers": 2,
                    "links": [_LINK],
                    "dead_letters": 0,
                    "error": None,
                }
            ]
        }
    )

    linked: bool
    name: str | None = None
    policy: str | None = None
    brokers: int = Field(default=0, description="Number of brokers in the network, including this one")
    links: list[NetworkLinkForm] = []
    dead_letters: int = Field(default=0, description="Number of events dropped from full queues since the first start")
    error: str | None = Field(default=None, description="Current error; for administrators")


@router.get("", operation_id="network", summary="Get the network's status", responses=responses(401, 403, 422, 503))
async def network(caller: Subscriber, service: Serving) -> NetworkForm:
    """Status of the broker network: the server's broker, and the traffic of each of its links."""
    if service.bridge is None:
        return NetworkForm(linked=False)
    told = await run_in_threadpool(service.bridge.status)
    links = [NetworkLinkForm(**each) for each in told["links"]]
    if not caller.administers:
        links = [each.model_copy(update={"address": None}) for each in links]
    return NetworkForm(
        linked=True,
        name=told["name"],
        policy=told["policy"],
        brokers=told["brokers"],
        links=links,
        dead_letters=told["dead_letters"],
        error=told["error"] if caller.administers else None,
    )
