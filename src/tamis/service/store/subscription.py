"""A subscription as the store holds it, and what it is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

State = Literal["active", "paused", "suspended", "expired", "cancelled"]
LASTING: Final[tuple[State, ...]] = ("active", "paused", "suspended")
"""States of what has not ended."""
Kind = Literal["filter", "operator", "join"]
Dialect = Literal["tamis", "cloudevents"]


FOREVER: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""The expiry of what is valid until it is cancelled: a moment like any other to the database, and never reached."""
LONGEST_NOTICE: Final = timedelta(days=1)
NOTICE_SHARE: Final = 10


def notice_at(began: datetime, expires: datetime) -> datetime | None:
    """When the subscriber is told that the validity ends: a tenth of it before, and a day before at the earliest."""
    return None if expires >= FOREVER else expires - min((expires - began) / NOTICE_SHARE, LONGEST_NOTICE)


class Unchanged(Enum):
    """The type of `UNCHANGED`, which stands for what a change leaves as it is: None is a value of its own there."""

    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED
Keep: TypeAlias = Literal[Unchanged.UNCHANGED]


def _pull() -> dict[str, Any]:
    return {"mode": "pull"}


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """Request of a subscriber, checked by whoever puts it into the store. The fields are those of `Subscription`."""

    owner: str
    text: str
    filter: str
    expires: datetime
    label: str = ""
    kind: Kind = "filter"
    dialect: Dialect = "tamis"
    residual: str | None = None
    delivery: dict[str, Any] = field(default_factory=_pull)


@dataclass(frozen=True, slots=True)
class Subscription:
    """One subscription at one revision.

    `number` is the store's own and never used again; its text is the id under which the index knows the subscription.
    `id` is what the outside knows. `owner` is a key's id, or empty where the ticket alone gives access. `text` is what
    the subscriber wrote, `filter` what the index holds: canonical text, or for CloudEvents filters a condition that
    every matching event satisfies. `residual` is then what is left to evaluate, and None where the filter is exact.
    `delivery` has a `mode`: pull, webhook or kafka. `reason` is why it is suspended, and None if it is not. `began` is
    when it was made or last renewed.
    """

    number: int
    id: str
    owner: str
    label: str
    kind: Kind
    text: str
    dialect: Dialect
    filter: str
    residual: str | None
    delivery: dict[str, Any]
    state: State
    created: datetime
    expires: datetime
    revision: int
    reason: str | None = None
    began: datetime | None = None

    @property
    def ends(self) -> datetime | None:
        """When its validity ends; None: it is valid until it is cancelled."""
        return None if self.expires >= FOREVER else self.expires

    def is_expiring(self, now: datetime) -> bool:
        """True if it still stands, and its end has been announced."""
        notice = notice_at(self.began or self.created, self.expires)
        return self.state in LASTING and notice is not None and notice <= now < self.expires


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """Filter that the index is to hold for a subscription from a revision on, or None for nothing."""

    revision: int
    number: int
    filter: str | None
