"""Subscriptions in the store: created, found, changed and ended, each change under a revision that followers read."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    case,
    func,
    insert,
    or_,
    select,
    type_coerce,
    update,
)

from tamis.service.store import subscription as counters
from tamis.service.store.database import (
    Database,
    NotFoundError,
    TicketError,
    TooManyError,
    is_storable,
    pieces,
    require_storable,
    within,
)
from tamis.service.store.delivery_state import place_anew
from tamis.service.store.ending import announce, expire, purge
from tamis.service.store.hashing import digest, fits, id_for, random_text
from tamis.service.store.importing import Importing
from tamis.service.store.keys import require_live, require_subscriber
from tamis.service.store.subscription import (
    FOREVER,
    LASTING,
    LONGEST_NOTICE,
    NOTICE_SHARE,
    UNCHANGED,
    ChangeRow,
    Keep,
    Kind,
    NewSubscription,
    State,
    Subscription,
    counted,
    notice_at,
)
from tamis.service.store.tables import SUBSCRIPTIONS, microseconds, now

_ID = re.compile(r"sub_[A-Za-z0-9_-]{22}", re.ASCII)
_COLUMNS = SUBSCRIPTIONS.c
_CALLING = 5_000
_PUSHED = ("webhook", "kafka")
_SHOWN = [column for column in _COLUMNS if column.name not in ("ticket", "mode", "changed", "notice")]


class Subscriptions(Importing):
    """All subscriptions, ended ones included until they are purged.

    Every change that concerns matching or delivery takes the next revision, and a subscription has the revision of its
    newest change. So `changes` after a revision are the subscriptions touched since, each once: a follower that applies
    them in order has the store's state.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def revision(self) -> int:
        """Newest revision. Everything up to it can be read."""
        with self._database.read() as connection:
            return counters.value(connection, "revision")

    def create(self, new: NewSubscription, ticket: str = "", most: int | None = None) -> tuple[Subscription, str]:
        """Creates a subscription; returns it with its ticket, which is shown this once.

        A request that brings its own ticket gets the id that belongs to it: a repeat, because the answer was lost,
        returns the existing subscription, and creates no second one. An owner whose key is revoked cannot create one,
        nor can one with `most` active ones, however many requests come at once: TooManyError.
        """
        for what in ("label", "text", "filter", "owner"):
            require_storable(getattr(new, what), what)
        brought, moment = bool(ticket), now()
        id = id_for(ticket) if brought else f"sub_{random_text(16)}"
        ticket = ticket or f"tkt_{random_text(32)}"
        with self._database.write() as connection:
            if brought and (made := self._with_ticket(connection, id, ticket)) is not None:
                return made, ticket
            revision = counters.advance(connection, "revision", 1)
            require_live(connection, new.owner)
            if most is not None and counted(connection, new.owner, "active") >= most:
                raise TooManyError(f"there are {most:,} active subscriptions of this owner already")
            made = Subscription(
                revision,
                id,
                new.owner,
                new.label,
                new.kind,
                new.text,
                new.dialect,
                new.filter,
                new.residual,
                new.delivery,
                "active",
                moment,
                new.expires,
                revision,
                began=moment,
            )
            more = {"ticket": digest(ticket), "changed": moment, "notice": notice_at(moment, new.expires)}
            connection.execute(insert(SUBSCRIPTIONS).values(_row(made) | more))
            counters.moved(connection, {(new.owner, "active"): 1})
        return made, ticket

    @staticmethod
    def _with_ticket(connection: Connection, id: str, ticket: str) -> Subscription | None:
        row = connection.execute(select(*_SHOWN).where(_COLUMNS.id == id)).one_or_none()
        if row is None:
            return None
        kept = connection.execute(select(_COLUMNS.ticket).where(_COLUMNS.id == id)).scalar_one()
        if not fits(ticket, kept):
            raise TicketError("the subscription that this ticket was for has another by now: bring another ticket")
        return _subscription(row)

    def get(self, id: str) -> Subscription | None:
        if _ID.fullmatch(id) is None:
            return None
        with self._database.read() as connection:
            row = connection.execute(select(*_SHOWN).where(_COLUMNS.id == id)).one_or_none()
        return None if row is None else _subscription(row)

    def by_number(self, numbers: Sequence[int]) -> dict[int, Subscription]:
        """Subscriptions of these numbers that exist."""
        found: dict[int, Subscription] = {}
        with self._database.read() as connection:
            for some in pieces(numbers):
                rows = connection.execute(select(*_SHOWN).where(_COLUMNS.number.in_(some)))
                found.update({row.number: _subscription(row) for row in rows})
        return found

    def with_residuals(self, among: Sequence[int] | None = None) -> list[int]:
        """Numbers of subscriptions, or of those among some, that leave something over for a closer look; ascending."""
        wanted = select(_COLUMNS.number).where(_COLUMNS.residual.is_not(None)).order_by(_COLUMNS.number)
        with self._database.read() as connection:
            if among is None:
                return [int(row[0]) for row in connection.execute(wanted)]
            some = (connection.execute(wanted.where(_COLUMNS.number.in_(part))).all() for part in pieces(sorted(among)))
            return [int(row[0]) for rows in some for row in rows]

    def active(self, numbers: Collection[int]) -> set[int]:
        """Filters numbers of subscriptions: those that are active."""
        found: set[int] = set()
        with self._database.read() as connection:
            for some in pieces(list(numbers)):
                wanted = select(_COLUMNS.number).where(_COLUMNS.number.in_(some), _COLUMNS.state == "active")
                found.update(connection.execute(wanted).scalars())
        return found

    def ticket_fits(self, id: str, ticket: str) -> bool:
        """True if the ticket is the subscription's. Takes as long for an unknown id as for a wrong ticket."""
        kept = None
        if _ID.fullmatch(id) is not None:
            with self._database.read() as connection:
                kept = connection.execute(select(_COLUMNS.ticket).where(_COLUMNS.id == id)).scalar_one_or_none()
        return fits(ticket, kept)

    def list(
        self,
        owner: str | None,
        *,
        search: str = "",
        state: State | None = None,
        expiring: datetime | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> builtins.list[Subscription]:
        """Subscriptions of an owner, or everybody's for None, by number; `search` finds id, label or text, in any case.

        `expiring`: only those whose expiry has been announced by that moment, and has not come.
        """
        if not is_storable(search):
            return []
        wanted = _page(after, limit)
        if owner is not None:
            wanted = wanted.where(_COLUMNS.owner == owner)
        if state is not None:
            wanted = wanted.where(_COLUMNS.state == state)
        if expiring is not None:
            wanted = wanted.where(*_expiring(expiring))
        if search:
            within_any = [_COLUMNS[name].icontains(search, autoescape=True) for name in ("id", "label", "text")]
            wanted = wanted.where(or_(*within_any))
        return self._all(wanted)

    def pushed(self, after: int = 0, limit: int = 1_000) -> builtins.list[Subscription]:
        """Push subscriptions (webhook or Kafka) that have not ended, by number."""
        wanted = _page(after, limit).where(_COLUMNS.mode.in_(_PUSHED), _COLUMNS.state.in_(LASTING))
        return self._all(wanted)

    def calling(self) -> Iterator[str]:
        """Filters of the subscriptions that call operators and have not ended."""
        after = 0
        its = (_COLUMNS.kind == "operator", _COLUMNS.state.in_(LASTING))
        while page := self._all(_page(after, _CALLING).where(*its)):
            yield from (one.filter for one in page)
            after = page[-1].number

    def count(self, owner: str | None, state: State | None = None) -> int:
        with self._database.read() as connection:
            return counters.counted(connection, owner, state)

    def count_expiring(self, owner: str | None, now: datetime) -> int:
        """Number of an owner's subscriptions, or everybody's for None, whose expiry is announced and has not come."""
        counting = select(func.count()).select_from(SUBSCRIPTIONS).where(*_expiring(now))
        if owner is not None:
            counting = counting.where(_COLUMNS.owner == owner)
        with self._database.read() as connection:
            return int(connection.execute(counting).scalar_one())

    def renew(self, id: str, expires: datetime, *, by_owner: bool = False) -> Subscription:
        """Renews a subscription until the moment given. An expired one is matched again. `by_owner` as in `replace`."""
        with self._database.write() as connection:
            found = self._found(connection, id)
            if by_owner:
                require_live(connection, found.owner)
            moment = now()
            values: dict[str, Any] = {"expires": expires, "began": moment}
            # One that stands is matched as before, so that followers have nothing to do.
            ended = found.state == "expired"
            renewed = self._written(connection, found, values | {"state": "active"} if ended else values, revised=ended)
            its = update(SUBSCRIPTIONS).where(_COLUMNS.number == found.number)
            connection.execute(its.values(notice=notice_at(moment, expires)))
            return renewed

    def cancel(self, id: str) -> Subscription:
        """Cancels a subscription for good. A repeat changes nothing."""
        with self._database.write() as connection:
            found = self._found(connection, id, ended=True)
            if found.state == "cancelled":
                return found
            return self._written(connection, found, {"state": "cancelled"}, revised=True)

    def replace(
        self,
        id: str,
        *,
        text: str | Keep = UNCHANGED,
        filter: str | Keep = UNCHANGED,
        kind: Kind | Keep = UNCHANGED,
        residual: str | Keep | None = UNCHANGED,
        delivery: dict[str, Any] | Keep = UNCHANGED,
        label: str | Keep = UNCHANGED,
        state: State | Keep = UNCHANGED,
        by_owner: bool = False,
    ) -> Subscription:
        """Changes the fields given. A cancelled subscription cannot be changed.

        `by_owner`: on behalf of its owner, whose key must be live. A service may take a key for live for a moment after
        another has revoked it, and what that has paused must stay so.
        """
        given: dict[str, Any] = {
            "text": text,
            "filter": filter,
            "kind": kind,
            "residual": residual,
            "delivery": delivery,
            "label": label,
            "state": state,
        }
        values = {name: value for name, value in given.items() if value is not UNCHANGED}
        for name, value in values.items():
            if isinstance(value, str):
                require_storable(value, name)
        with self._database.write() as connection:
            found = self._found(connection, id)
            if by_owner:
                require_live(connection, found.owner)
            return self._written(connection, found, values, revised=True)

    def replay(self, id: str, cursor: int, *, by_owner: bool = False) -> int:
        """Sets the delivery of a subscription back to a cursor, after which all is sent again; returns the cursor.

        One that has not come as far stays where it is. A revision tells whoever pushes. `by_owner` as in `replace`.
        """
        with self._database.write() as connection:
            found = self._found(connection, id)
            if by_owner:
                require_live(connection, found.owner)
            self._written(connection, found, {}, revised=True)
            return place_anew(connection, found.number, cursor, ahead=False)

    def transfer(self, id: str, owner: str) -> tuple[Subscription, str]:
        """Gives a subscription to another key; returns it with its new ticket. The old ticket becomes invalid."""
        ticket = f"tkt_{random_text(32)}"
        with self._database.write() as connection:
            found = self._found(connection, id)
            require_subscriber(connection, require_storable(owner, "owner"))
            counters.moved(connection, {(found.owner, found.state): -1})
            counters.moved(connection, {(owner, found.state): 1})
            given = self._written(connection, found, {"owner": owner}, revised=True)
            its = update(SUBSCRIPTIONS).where(_COLUMNS.number == found.number)
            connection.execute(its.values(ticket=digest(ticket)))
        return given, ticket

    def suspend(self, reasons: Mapping[int, str]) -> builtins.list[Subscription]:
        """Suspends active subscriptions, by number, each for a reason: they are not matched until they are resumed.
        Returns those suspended.
        """
        suspended = []
        with self._database.write() as connection:
            # As whoever changes a subscription does, before it is read.
            counters.locked(connection, "revision")
            for some in pieces(sorted(reasons)):
                wanted = select(*_SHOWN).where(_COLUMNS.number.in_(some), _COLUMNS.state == "active")
                for found in map(_subscription, connection.execute(wanted).all()):
                    values = {"state": "suspended", "reason": reasons[found.number]}
                    suspended.append(self._written(connection, found, values, revised=True))
        return suspended

    def suspended(self) -> builtins.list[int]:
        """Numbers of the suspended ones among them."""
        with self._database.read() as connection:
            return list(connection.execute(select(_COLUMNS.number).where(_COLUMNS.state == "suspended")).scalars())

    def announce(self, now: datetime) -> int:
        """Records a notification for each subscription about to expire, once; returns how many."""
        return announce(self._database, now)

    def expire(self, now: datetime) -> int:
        """Expires subscriptions at the end of their validity, each under a revision of its own; returns how many."""
        return expire(self._database, now)

    def purge(self, before: datetime, followed: int) -> int:
        """Removes subscriptions that ended before a moment for good; `followed` is the revision our follower has
        reached.
        """
        return purge(self._database, before, followed)

    @property
    def purged(self) -> int:
        """Newest revision of those removed for good: a follower at an earlier revision has missed an end."""
        with self._database.read() as connection:
            return counters.value(connection, "purged")

    def changes(self, after: int, limit: int = 50_000) -> builtins.list[ChangeRow]:
        """Subscriptions touched after a revision, in the order of their newest one.

        Joins come as removals: no index of filters holds them.
        """
        return self._changes(after, limit, and_(_COLUMNS.state == "active", _COLUMNS.kind != "join"))

    def join_changes(self, after: int, limit: int = 10_000) -> builtins.list[ChangeRow]:
        """Changes of joins alone."""
        return self._changes(after, limit, _COLUMNS.state == "active", _COLUMNS.kind == "join")

    def _changes(
        self, after: int, limit: int, matched: ColumnElement[bool], *which: ColumnElement[bool]
    ) -> builtins.list[ChangeRow]:
        filter = case((matched, func.coalesce(_COLUMNS.filter, _COLUMNS.text)))
        wanted = select(_COLUMNS.revision, _COLUMNS.number, filter).where(_COLUMNS.revision > within(after), *which)
        with self._database.read() as connection:
            rows = connection.execute(wanted.order_by(_COLUMNS.revision).limit(limit))
            return [ChangeRow(*row) for row in rows]

    def _all(self, wanted: Select[Any]) -> builtins.list[Subscription]:
        with self._database.read() as connection:
            return [_subscription(row) for row in connection.execute(wanted)]

    def _found(self, connection: Connection, id: str, *, ended: bool = False) -> Subscription:
        # PostgreSQL: whoever changes a subscription holds the counter first, so that nobody waits in a circle.
        counters.locked(connection, "revision")
        row = None
        if _ID.fullmatch(id) is not None:
            row = connection.execute(select(*_SHOWN).where(_COLUMNS.id == id)).one_or_none()
        if row is None:
            raise NotFoundError(f"there is no subscription {id[:40]!r}")
        found = _subscription(row)
        if found.state == "cancelled" and not ended:
            raise NotFoundError(f"subscription {id} was cancelled; subscribe anew")
        return found

    @staticmethod
    def _written(
        connection: Connection, old: Subscription, values: dict[str, Any], *, revised: bool = False
    ) -> Subscription:
        fields = {name: getattr(old, name) for name in Subscription.__slots__} | values
        if fields["state"] != "suspended":
            fields["reason"] = None
        changed = {}
        if revised:
            fields["revision"] = counters.advance(connection, "revision", 1)
            changed = {"changed": now()}
        new = Subscription(**fields)
        connection.execute(update(SUBSCRIPTIONS).where(_COLUMNS.number == old.number).values(_row(new) | changed))
        if new.state != old.state:
            counters.moved(connection, {(old.owner, old.state): -1, (old.owner, new.state): 1})
        return new


def _expiring(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Condition of `Subscription.is_expiring` in SQL, in whole microseconds."""
    expires, began = (type_coerce(column, BigInteger) for column in (_COLUMNS.expires, _COLUMNS.began))
    left = expires - microseconds(now)
    standing = _COLUMNS.state.in_(LASTING)
    near = (_COLUMNS.expires > now, _COLUMNS.expires < FOREVER, _COLUMNS.expires <= now + LONGEST_NOTICE)
    lasted = expires - func.coalesce(began, type_coerce(_COLUMNS.created, BigInteger))
    return standing, *near, left * NOTICE_SHARE <= lasted


def _page(after: int, limit: int) -> Select[Any]:
    return select(*_SHOWN).where(_COLUMNS.number > within(after)).order_by(_COLUMNS.number).limit(limit)


def _row(subscription: Subscription) -> dict[str, Any]:
    row = {name: getattr(subscription, name) for name in Subscription.__slots__}
    row["delivery"] = json.dumps(subscription.delivery)
    row["mode"] = subscription.delivery["mode"]
    row["filter"] = None if subscription.filter == subscription.text else subscription.filter
    return row


def _subscription(row: Row[Any]) -> Subscription:
    fields = row._asdict()
    fields["delivery"] = json.loads(row.delivery)
    fields["filter"] = row.text if row.filter is None else row.filter
    return Subscription(**fields)
