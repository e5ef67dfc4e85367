"""A subscription on its way into the store: within the owner's allowance, and once however often it is asked for."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any, Final

from tamis.service.http.access import Caller
from tamis.service.http.service import Service
from tamis.service.intake.problems import Fault, Problem
from tamis.service.store import NewSubscription, Subscription, TooManyError

_TICKET: Final = re.compile(r"tkt_[A-Za-z0-9_-]{43}", re.ASCII)
# Of 43 characters drawn from 64, some 31 are different; the chance of fewer than 18, of five pieces that come again, or
# of thirteen steps of one length, is below one in a billion.
_FEWEST: Final = 18
_PIECE: Final = 4
_MOST_AGAIN: Final = 4
_MOST_STEPS: Final = 12


def make_subscription(
    service: Service, caller: Caller, new: NewSubscription, ticket: str | None
) -> tuple[Subscription, str]:
    """The subscription and its ticket, which the subscriber may have brought. Asks the store, so not in the loop."""
    if ticket is not None and not is_random(ticket):
        message = "a ticket of one's own is tkt_ and 43 random URL-safe characters: 32 bytes of chance, in base64"
        raise Problem(422, "ticket", message, [Fault(message=message, field="Tamis-Ticket")])
    with service.allowances.subscriptions.one_more(caller) as note:
        if note is None:
            raise _too_many()
        try:
            made, kept = service.store.subscriptions.create(new, ticket or "", service.limits.subscriptions_per_key)
        except TooManyError:
            raise _too_many() from None
        note(made.number)
    if ticket is not None and _asked(made) != _asked(new):
        raise Problem(409, "conflict", "this ticket belongs to a subscription that was asked for otherwise")
    return made, kept


def _too_many() -> Problem:
    return Problem(403, "limit", "there are as many subscriptions already as may be; cancel some")


def is_random(ticket: str) -> bool:
    """Refuses what nobody draws: few characters, and pieces that come again. The id, which others see, is a hash of the
    ticket: one that is made up by hand can be found from it."""
    if _TICKET.fullmatch(ticket) is None:
        return False
    drawn = ticket.removeprefix("tkt_")
    steps = Counter((ord(after) - ord(before)) for before, after in pairwise(drawn))
    pieces = {drawn[at : at + _PIECE] for at in range(len(drawn) - _PIECE + 1)}
    return (
        len(set(drawn)) >= _FEWEST
        and len(pieces) > len(drawn) - _PIECE - _MOST_AGAIN
        and max(steps.values()) <= _MOST_STEPS
    )


def _asked(what: Subscription | NewSubscription) -> tuple[Any, ...]:
    """Key of a request, equal for equal ones; a secret is made anew for each."""
    delivery = {name: value for name, value in what.delivery.items() if name != "secret"}
    return what.owner, what.label, what.kind, what.text, what.dialect, delivery
