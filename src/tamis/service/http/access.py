"""Access control: callers with API keys and roles, tickets of single subscriptions, rates of requests, and the
dependencies of routes that check them.

Where subscribing needs a key, a ticket is as good as its subscription's key: revoking the key invalidates both. A
resource of another owner gets exactly the answer of one that does not exist.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Path, Security
from fastapi.openapi.models import APIKey, APIKeyIn, HTTPBearer
from fastapi.security.base import SecurityBase
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.types import Scope

from tamis.service.http.request_guards import origin
from tamis.service.http.service import LONGEST_SECRET, Service, Serving, current_service
from tamis.service.intake.allowances import Claimant, RateLimit
from tamis.service.intake.problems import Problem, not_found
from tamis.service.store import Key, Role, Subscription

_CALLER: Final = "tamis.caller"  # under which a request's scope has its caller, once the key was looked at
_FROM_BROWSERS: Final = ("/stream", "/socket")  # where a browser cannot set headers, the query may have the secret

SubscriptionId = Annotated[
    str,
    Path(
        description="The subscription's id", pattern="^[A-Za-z0-9_-]{1,100}$", examples=["sub_3q2-8xYhT0m5nKc7vZJdQw"]
    ),
]


@dataclass(frozen=True, slots=True)
class Caller:
    """Author of a request: an API key, or an anonymous address (`key` is None).

    `address` is where the request comes from, as it is counted: see `origin`.
    """

    key: Key | None
    address: str

    @property
    def name(self) -> str:
        """Name under which a caller is counted: the key, or the address without one."""
        return f"key {self.key.id}" if self.key is not None else f"address {self.address}"

    @property
    def claimant(self) -> Claimant:
        """Caller as a claimant of places."""
        return Claimant(self.name, self.key is not None)

    @property
    def owner(self) -> str:
        """Owner of subscriptions that this caller makes; empty without a key."""
        return self.key.id if self.key is not None else ""

    @property
    def administers(self) -> bool:
        return self.key is not None and "administer" in self.key.roles

    def has(self, role: Role) -> bool:
        """True if the key has the role; administrators have all."""
        return self.key is not None and (role in self.key.roles or self.administers)


class _KeyScheme(SecurityBase):
    """`Authorization: Bearer tk_…`, or `?key=` for event streams and sockets."""

    model = HTTPBearer(description="An API key: `tk_…`")
    scheme_name = "key"

    async def __call__(self, connection: HTTPConnection) -> str | None:
        scheme, _, secret = connection.headers.get("authorization", "").partition(" ")
        return secret.strip() if scheme.lower() == "bearer" else _in_query(connection, "key")


class _TicketScheme(SecurityBase):
    """`Tamis-Ticket: tkt_…`, or `?ticket=` for event streams and sockets."""

    model = APIKey.model_validate(
        {"in": APIKeyIn.header, "name": "Tamis-Ticket", "description": "A subscription's ticket: `tkt_…`"}
    )
    scheme_name = "ticket"

    async def __call__(self, connection: HTTPConnection) -> str | None:
        ticket = connection.headers.get("tamis-ticket") or _in_query(connection, "ticket")
        return ticket if ticket is not None and len(ticket) <= LONGEST_SECRET and ticket.isascii() else None


def _in_query(connection: HTTPConnection, name: str) -> str | None:
    return connection.query_params.get(name) if connection.url.path.endswith(_FROM_BROWSERS) else None


PresentedKey = Annotated[str | None, Security(_KeyScheme())]
Ticket = Annotated[str | None, Security(_TicketScheme())]


async def current_caller(connection: HTTPConnection, secret: PresentedKey, service: Serving) -> Caller:
    """Caller of a request; 401 if its key is invalid, 429 if it exceeds its rate. Counted once per request."""
    if isinstance(known := connection.scope.get(_CALLER), Caller):
        return known
    address = _address(connection.scope)
    key = await service.key_ring.find(secret) if secret is not None else None
    # Guesses at keys count against the address, so that guessing is slow too.
    caller = Caller(key, address)
    _require_token(service.rates, caller, "requests")
    if secret is not None and key is None:
        raise Problem(401, "key", "this key is unknown or revoked", headers={"WWW-Authenticate": "Bearer"})
    connection.scope[_CALLER] = caller
    return caller


Asking = Annotated[Caller, Depends(current_caller)]


async def current_reader(caller: Asking, service: Serving) -> Caller:
    """Caller who opens a stream or socket; 429 if they open too many a second.

    To begin costs the server as much as several requests, and memory besides: a rate of its own, looked at before the
    subscription is looked up.
    """
    _require_token(service.openings, caller, "new readers")
    return caller


Opening = Annotated[Caller, Depends(current_reader)]


def _require_token(rate: RateLimit, caller: Caller, what: str) -> None:
    if wait := rate.take(caller.name):
        headers = {"Retry-After": str(math.ceil(wait))}
        raise Problem(429, "rate", f"too many {what}; wait {wait:.1f} seconds", headers=headers)


def caller_of(scope: Scope) -> str:
    """Name of a request's caller: by the key, if it has been checked, else by the address."""
    known = scope.get(_CALLER)
    return (known if isinstance(known, Caller) else Caller(None, _address(scope))).name


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return origin(client[0]) if client else ""


async def publisher(caller: Asking, service: Serving) -> Caller:
    """Caller who may publish: anyone, or keys with the role, by the server's settings."""
    if service.settings.access.publish == "keys":
        _require(caller, "publish")
    return caller


async def subscriber(caller: Asking, service: Serving) -> Caller:
    """Caller who may subscribe: anyone, or keys with the role, by the server's settings."""
    if service.settings.access.subscribe == "keys":
        _require(caller, "subscribe")
    return caller


async def reader(caller: Asking, service: Serving) -> Caller:
    """Caller who may see the schema and advertisements: any subscriber or publisher."""
    if not caller.has("publish"):
        await subscriber(caller, service)
    return caller


async def administrator(caller: Asking) -> Caller:
    """Caller with a key that may administer."""
    _require(caller, "administer")
    return caller


async def admit(request: Request, needed: Collection[object]) -> None:
    """Runs those of `needed`, a route's dependencies, that check keys: before the body is read."""
    if current_caller not in needed:
        return
    service = await current_service(request)
    caller = await current_caller(request, await _KeyScheme()(request), service)
    if publisher in needed:
        await publisher(caller, service)
    if subscriber in needed:
        await subscriber(caller, service)
    if administrator in needed:
        await administrator(caller)


Publisher = Annotated[Caller, Depends(publisher)]
Subscriber = Annotated[Caller, Depends(subscriber)]
Reader = Annotated[Caller, Depends(reader)]
Administrator = Annotated[Caller, Depends(administrator)]


def _require(caller: Caller, role: Role) -> None:
    if caller.has(role):
        return
    if caller.key is None:
        detail = f"this needs an API key that may {role}: send it as Authorization: Bearer tk_…"
        raise Problem(401, "key", detail, headers={"WWW-Authenticate": "Bearer"})
    raise Problem(403, "role", f"this key may not {role}")


@dataclass(frozen=True, slots=True)
class Admission:
    """Subscription that the caller may access, and on what grounds.

    `subscribes`: as its subscriber, by its ticket or as its owner, and not as an administrator who looks on. `key` is
    the id of the key without which they would not be let in; empty if the ticket alone lets them.
    """

    subscription: Subscription
    subscribes: bool
    key: str


def look_up(service: Service, id: str, caller: Caller, ticket: str | None) -> Admission:
    """Subscription, if the caller owns it, has its ticket, or administers; else 404.

    Where subscribing is by keys, a ticket is no good if its owner's key is revoked. Asks the store, so not in the loop.
    """
    fits = ticket is not None and service.store.subscriptions.ticket_fits(id, ticket)
    found = service.store.subscriptions.get(id)
    owns = found is not None and caller.owner != "" and caller.owner == found.owner
    if found is None or not (fits or owns or caller.administers):
        raise not_found()
    by_keys = service.settings.access.subscribe == "keys"
    if (owns or caller.administers) and (by_keys or not fits):
        return Admission(found, fits or owns, caller.owner)
    if by_keys and service.store.keys.revoked({found.owner}):
        detail = "the key that this subscription belongs to is revoked; an administrator can give it to another key"
        raise Problem(403, "key", detail)
    return Admission(found, True, found.owner if by_keys else "")


async def owned_subscription(id: SubscriptionId, caller: Asking, ticket: Ticket, service: Serving) -> Subscription:
    """Subscription, for callers who may access it: see `look_up`."""
    return (await run_in_threadpool(look_up, service, id, caller, ticket)).subscription


Owned = Annotated[Subscription, Depends(owned_subscription)]


def for_owner(caller: Caller, service: Service) -> bool:
    """True if a change is made on behalf of the owner, whose key must still be live when it is written."""
    return not caller.administers and (caller.key is not None or service.settings.access.subscribe == "keys")
