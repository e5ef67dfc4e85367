"""A subscription on its way into the store: within the owner's allowance, and once however often it is asked for."""

from __future__ import annotations

import re
from typing import Any, Final

from tamis.service.api.problems import Fault, Problem
from tamis.service.api.service import Service
from tamis.service.store import NewSubscription, Subscription

_TICKET: Final = re.compile(r"tkt_[A-Za-z0-9_-]{43}", re.ASCII)


def make_subscription(service: Service, new: NewSubscription, ticket: str | None) -> tuple[Subscription, str]:
    """The subscription and its ticket, which the subscriber may have brought. Asks the store, so not in the loop."""
    if ticket is not None and _TICKET.fullmatch(ticket) is None:
        message = "a ticket of one's own is tkt_ and 43 random URL-safe characters"
        raise Problem(422, "ticket", message, [Fault(message=message, field="Tamis-Ticket")])
    subscriptions, most = service.store.subscriptions, service.limits.subscriptions_per_key
    if subscriptions.count(new.owner, "active") >= most:
        raise Problem(403, "limit", f"there are {most:,} subscriptions already, which is the most; cancel some")
    made, ticket = subscriptions.create(new, ticket or "")
    if _asked(made) != _asked(new):
        raise Problem(409, "conflict", "this ticket belongs to a subscription that was asked for otherwise")
    return made, ticket


def _asked(what: Subscription | NewSubscription) -> tuple[Any, ...]:
    """What makes two requests the same; a secret is made anew for each."""
    delivery = {name: value for name, value in what.delivery.items() if name != "secret"}
    return what.owner, what.label, what.kind, what.text, what.dialect, delivery
