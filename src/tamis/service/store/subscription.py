"""Subscription records and the time of their expiry notice; the store's counters with their locks, and counts of
subscriptions by owner and state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from tamis.service.store.tables import COUNTERS, COUNTS

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
    """Time to notify the subscriber of the expiry: a tenth of the validity before it, at most a day."""
    return None if expires >= FOREVER else expires - min((expires - began) / NOTICE_SHARE, LONGEST_NOTICE)


class Unchanged(Enum):
    """Type of `UNCHANGED`, which stands for a field that a change leaves as it is: None is a value of its own there."""

    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED
Keep: TypeAlias = Literal[Unchanged.UNCHANGED]


def _pull() -> dict[str, Any]:
    return {"mode": "pull"}


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """Request for a subscription, already checked. The fields are those of `Subscription`."""

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
    """Subscription at one revision.

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
        """End of its validity; None: it is valid until it is cancelled."""
        return None if self.expires >= FOREVER else self.expires

    def is_expiring(self, now: datetime) -> bool:
        """True if it is active or paused, and its expiry has been announced."""
        notice = notice_at(self.began or self.created, self.expires)
        return self.state in LASTING and notice is not None and notice <= now < self.expires


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """Filter of a subscription for the index from a revision on, or None for removal."""

    revision: int
    number: int
    filter: str | None


# Counters that many writers share, and the counts of subscriptions by owner and state.
#
# Each counter is one row, locked by the transaction that advances it until its end. So values are committed in their
# order, on PostgreSQL too: a reader that sees one value sees all changes made under earlier values.

Counter = Literal["revision", "head", "schema", "purged", "segments", "floor"]


def value(connection: Connection, name: Counter) -> int:
    return int(connection.execute(select(COUNTERS.c.value).where(COUNTERS.c.name == name)).scalar_one())


def locked(connection: Connection, name: Counter) -> int:
    """Value of a counter, locked until the end of this transaction."""
    held = select(COUNTERS.c.value).where(COUNTERS.c.name == name).with_for_update()
    return int(connection.execute(held).scalar_one())


def advance(connection: Connection, name: Counter, by: int) -> int:
    """Advances a counter and returns its new value; the last `by` values are the caller's."""
    moving = update(COUNTERS).where(COUNTERS.c.name == name).values(value=COUNTERS.c.value + by)
    return int(connection.execute(moving.returning(COUNTERS.c.value)).scalar_one())


def put(connection: Connection, name: Counter, new: int) -> None:
    connection.execute(update(COUNTERS).where(COUNTERS.c.name == name).values(value=new))


def counted(connection: Connection, owner: str | None, state: State | None) -> int:
    """Number of an owner's subscriptions in a state; None: of everybody, in every state."""
    total = select(func.coalesce(func.sum(COUNTS.c["count"]), 0))
    if owner is not None:
        total = total.where(COUNTS.c.owner == owner)
    if state is not None:
        total = total.where(COUNTS.c.state == state)
    return int(connection.execute(total).scalar_one())


def moved(connection: Connection, changes: Mapping[tuple[str, str], int]) -> None:
    """Adds to the counts of (owner, state). The caller holds the revision counter, so that one does so at a time."""
    rows = [{"owner": owner, "state": state, "count": by} for (owner, state), by in sorted(changes.items()) if by]
    if not rows:
        return
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    adding = insert(COUNTS)
    summed = COUNTS.c["count"] + adding.excluded["count"]
    connection.execute(adding.on_conflict_do_update(index_elements=["owner", "state"], set_={"count": summed}), rows)
