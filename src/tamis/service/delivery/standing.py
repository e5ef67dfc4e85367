"""Whether a subscription is handed anything.

Live readers, webhooks and Kafka are served while it is active. A pause holds back what had matched before, and lets it
through when it ends; so does a suspension, which is a pause that the service makes. Once a subscription has expired,
what matched before can still be polled for as long as notifications are kept; once it is cancelled, nothing can.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from tamis.service.store import Subscription

Standing: TypeAlias = Literal["active", "paused", "suspended", "expired", "cancelled"]


def standing(subscription: Subscription | None, now: datetime) -> Standing:
    """A subscription's state, its expiry told by the clock: the store notes it a little later."""
    if subscription is None:
        return "cancelled"
    if subscription.state == "active" and subscription.expires <= now:
        return "expired"
    return subscription.state
