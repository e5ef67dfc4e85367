"""Notifications read from the store and rendered as JSON, for polls, live feeds and pushes.

Live readers, webhooks and Kafka are served while a subscription is active. A pause, or a suspension, which is a pause
that the service makes, holds earlier matches back until it ends. Once a subscription has expired, earlier matches can
still be polled for as long as notifications are kept; once it is cancelled, none can. Everything here runs off the
event loop.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

import orjson

from tamis.errors import TamisError
from tamis.service.base.events import LAST, Cursor, Notification, notification_id
from tamis.service.delivery.channels import Clock
from tamis.service.delivery.matched import Matched, OpenedEvent
from tamis.service.store import DeadLetter, Pair, Store, Subscription, Wanted

Standing: TypeAlias = Literal["active", "paused", "suspended", "expired", "cancelled"]

_AT_ONCE: Final = 100
_POLLED_BYTES: Final = 8 << 20
_LIVE: Final[tuple[Standing, ...]] = ("active",)
_POLLED: Final[tuple[Standing, ...]] = ("active", "expired")
_OPTIONS: Final = orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z


class NotReplayable(TamisError):  # noqa: N818 - reads as what it is
    """Dead letter that no subscriber is waiting for any more."""


@dataclass(frozen=True, slots=True)
class Page:
    """Notifications of one subscription, in order; `complete` if there are no more up to where it was read.

    A subscription that is not active has none: `standing` says what it is instead.
    """

    notifications: Sequence[Notification]
    complete: bool
    standing: Standing


@dataclass(frozen=True, slots=True)
class WidePage:
    """Notifications of many subscriptions, in order, and the position reached; `complete` as above."""

    notifications: Sequence[Notification]
    cursor: Cursor
    complete: bool


@dataclass(frozen=True, slots=True)
class Gathered:
    """Notifications up to position `upto` for live subscriptions.

    `inactive`: live subscriptions with something new that may not have it.
    """

    upto: int
    notifications: list[Notification] = field(default_factory=list)
    inactive: set[int] = field(default_factory=set)


class Renderer:
    """Renders notifications as JSON. Safe from any thread."""

    def __init__(self, matched: Matched) -> None:
        self._matched = matched

    def render(
        self,
        subscription: Subscription,
        event: OpenedEvent,
        bindings: str | None = None,
        changes: str | None = None,
        notice: str | None = None,
    ) -> Notification:
        """Notification of one subscription about one event, with its bindings, as JSON.

        Of a join: what the event changed in its content, as JSON. `notice`, JSON too: a message in place of a match.
        """
        id = notification_id(event.id, subscription.id)
        form = {
            "id": id,
            **({} if notice is None else orjson.loads(notice)),
            "subscription": subscription.id,
            "time": event.time,
            "event_id": event.id,
            "event": event.written,
            "matched": [] if notice is not None else self._matched.conditions(subscription, event, bindings),
            **({} if bindings is None else {"bindings": orjson.Fragment(bindings)}),
            **({} if changes is None else {"changes": orjson.Fragment(changes)}),
            "cursor": str(event.position),
        }
        body = orjson.dumps(form, option=_OPTIONS)
        return Notification(
            id, subscription, event.position, event.id, event.time, event.body, body, bindings, changes, notice
        )


class Reading:
    """Reads notifications from the store and renders them. Safe from any thread."""

    def __init__(self, store: Store, renderer: Renderer, clock: Clock) -> None:
        self._store = store
        self._renderer = renderer
        self._clock = clock

    def head(self) -> int:
        """Position up to which everything is final."""
        return self._store.notifications.head()

    def page(self, number: int, after: int, upto: int, limit: int) -> Page:
        """Notifications of a subscription after one position, up to another, while it is active."""
        return self._page(number, after, upto, limit, _LIVE)

    def poll(self, number: int, after: int, limit: int) -> Page:
        """Notifications after a position, also of an expired subscription; no more bytes at once than a few bodies."""
        found: list[Notification] = []
        size = 0
        while True:
            page = self._page(number, after, LAST, min(_AT_ONCE, limit - len(found)), _POLLED)
            found += page.notifications
            size += sum(len(one.body) for one in page.notifications)
            if page.complete or not page.notifications or len(found) >= limit or size > _POLLED_BYTES:
                return Page(found, page.complete or not page.notifications, page.standing)
            after = found[-1].position

    def back(self, number: int, before: int, limit: int) -> Page:
        """Notifications before a position, newest first; also of an expired subscription."""
        subscription = self._store.subscriptions.by_number([number]).get(number)
        now = standing(subscription, self._clock.now())
        if subscription is None or now not in _POLLED:
            return Page((), True, now)
        rows = self._store.notifications.before(number, before, limit)
        rendered: list[Notification] = []
        size = 0
        for row in rows:
            opened = OpenedEvent(row.position, row.event_id, row.time, row.body)
            rendered.append(self._renderer.render(subscription, opened, row.bindings, row.changes, row.notice))
            size += len(rendered[-1].body)
            if size > _POLLED_BYTES:
                break
        return Page(rendered, len(rows) < limit and len(rendered) == len(rows), now)

    def _page(self, number: int, after: int, upto: int, limit: int, allowed: Collection[Standing]) -> Page:
        subscription = self._store.subscriptions.by_number([number]).get(number)
        now = standing(subscription, self._clock.now())
        if subscription is None or now not in allowed:
            return Page((), False, now)
        rows = self._store.notifications.after(number, after, limit)
        within = [row for row in rows if row.position <= upto]
        rendered = [
            self._renderer.render(
                subscription,
                OpenedEvent(row.position, row.event_id, row.time, row.body),
                row.bindings,
                row.changes,
                row.notice,
            )
            for row in within
        ]
        return Page(rendered, len(rows) < limit or len(within) < len(rows), now)

    def wide_page(self, owner: str | None, cursor: Cursor, upto: int, limit: int) -> WidePage:
        """Notifications of an owner (None: everybody) after a cursor; inactive subscriptions are passed over."""
        pairs = self._pairs(owner, cursor, upto, limit)
        if not pairs:
            return WidePage((), max(cursor, Cursor(upto)), True)
        notifications, _ = self._render([pair for pair in pairs if pair[:2] > cursor])
        # The store does not part the pairs of one event: everything at the last position is here.
        reached = max(cursor, Cursor(pairs[-1].position))
        return WidePage(notifications, reached, reached.position >= upto)

    def _pairs(self, owner: str | None, cursor: Cursor, upto: int, limit: int) -> list[Pair]:
        if owner is None:
            return self._store.notifications.since(cursor.whole, upto, limit)
        rows = self._store.notifications.of_owner_after(owner, cursor.whole, limit)
        return [
            Pair(row.position, row.subscription, row.bindings, row.changes, row.notice)
            for row in rows
            if row.position <= upto
        ]

    def gather(self, after: int, upto: int, limit: int, live: Wanted) -> Gathered:
        """Notifications for the live subscriptions, up to `upto` or as far as about `limit` pairs of theirs go."""
        pairs, reached = self._store.notifications.concerning(live, after, upto, limit)
        notifications, inactive = self._render(pairs)
        return Gathered(reached, notifications, inactive)

    def _render(self, pairs: Sequence[Pair]) -> tuple[list[Notification], set[int]]:
        if not pairs:
            return [], set()
        numbers = {pair.subscription for pair in pairs}
        subscriptions = self.subscriptions(numbers)
        now = self._clock.now()
        active = {number for number, one in subscriptions.items() if standing(one, now) == "active"}
        kept = [pair for pair in pairs if pair.subscription in active]
        stored = self._store.notifications.events(sorted({pair.position for pair in kept}))
        opened = {at: OpenedEvent(at, event.id, event.time, event.body) for at, event in stored.items()}
        # An event that retention has just swept away has no notifications either.
        rendered = [
            self._renderer.render(
                subscriptions[pair.subscription], opened[pair.position], pair.bindings, pair.changes, pair.notice
            )
            for pair in kept
            if pair.position in opened
        ]
        return rendered, numbers - active

    def subscriptions(self, numbers: Collection[int]) -> dict[int, Subscription]:
        """Subscriptions as they are now."""
        return self._store.subscriptions.by_number(sorted(numbers)) if numbers else {}


def standing(subscription: Subscription | None, now: datetime) -> Standing:
    """State of a subscription, its expiry told by the clock: the store records it a little later."""
    if subscription is None:
        return "cancelled"
    if subscription.state == "active" and subscription.expires <= now:
        return "expired"
    return subscription.state


def notification_of(letter: DeadLetter, subscription: Subscription | None, now: datetime) -> Notification:
    """Notification of a dead letter, rendered for its subscription as it is now; else `NotReplayable`."""
    if subscription is None or standing(subscription, now) != "active":
        raise NotReplayable("its subscription is not active")
    if subscription.delivery["mode"] == "pull":
        raise NotReplayable("its subscription has neither webhook nor topic any more")
    form = orjson.loads(letter.body)
    return Notification(
        id=str(letter.detail["notification"]),
        subscription=subscription,
        position=int(letter.detail["cursor"]),
        event_id=str(letter.detail["event_id"]),
        time=now,
        event=orjson.dumps(form["event"]).decode(),
        body=letter.body.encode(),
        bindings=orjson.dumps(form["bindings"]).decode() if "bindings" in form else None,
        changes=orjson.dumps(form["changes"]).decode() if "changes" in form else None,
        notice=orjson.dumps({"type": form["type"], "expires": form["expires"]}).decode() if "type" in form else None,
    )
