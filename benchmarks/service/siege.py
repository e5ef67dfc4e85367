"""A server under fire: publishers, subscribers and readers who never give up, and what they must find at the end."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from benchmarks.service.server import Server
from tamis.client import Client, Notification, ServiceError, ServiceUnreachable, Subscription
from tamis.client.requests import Request

SCHEMA: dict[str, Any] = {
    "attributes": {"number": "integer", "lane": "integer"},
    "event_types": {"shot": {"number": "mandatory", "lane": "mandatory"}},
}
STANDING = 8
READ_LIVE = 3
A_REQUEST = 5
SETTLED = 300.0


@dataclass
class Toll:
    """What was lost or doubled; all zero is the only good answer."""

    published: int = 0
    lost: int = 0
    repeated: int = 0
    spurious: int = 0
    unordered: int = 0
    orphaned: int = 0
    unsettled: int = 0
    subscribed: int = 0
    cancelled: int = 0
    read_live: int = 0
    live_repeated: int = 0
    live_missing: int = 0

    @property
    def nothing(self) -> bool:
        bad = (self.lost, self.repeated, self.spurious, self.unordered, self.orphaned, self.unsettled)
        return not any((*bad, self.live_repeated, self.live_missing))


@dataclass
class Passing:
    """A subscription that comes and goes: events acknowledged between its two acknowledgements must be told."""

    subscription: Subscription
    lane: int
    first: int
    last: int | None = None


@dataclass
class Siege:
    """Threads that publish, subscribe, cancel and read until told to stop, through every death of the server.

    An event's `number` says its place in the order of publishing, which is one thread's; each request is repeated with
    the same key until it is acknowledged, so what was acknowledged is known exactly.
    """

    server: Server
    seed: int = 1
    acknowledged: int = 0
    standing: list[Subscription] = field(default_factory=list)
    passing: list[Passing] = field(default_factory=list)
    live: dict[str, list[Notification]] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)
    failures: list[BaseException] = field(default_factory=list)

    @staticmethod
    def write_schema(folder: Path) -> Path:
        path = folder / "schema.yaml"
        path.write_text(yaml.safe_dump(SCHEMA), encoding="utf-8")
        return path

    def begin(self) -> list[threading.Thread]:
        """The server is ready; what stands from now on must be told everything."""
        with Client(self.server.url) as client:
            self.standing = [client.subscribe(f"lane = {lane}", validity=timedelta(days=1)) for lane in range(STANDING)]
        threads = [threading.Thread(target=self._guarded, args=(part,), daemon=True) for part in self._parts()]
        for thread in threads:
            thread.start()
        return threads

    def _parts(self) -> list[Callable[[], None]]:
        return [self._publish, self._come_and_go, *(lambda lane=lane: self._read(lane) for lane in range(READ_LIVE))]

    def _guarded(self, part: Callable[[], None]) -> None:
        try:
            part()
        except BaseException as error:
            self.failures.append(error)
            raise

    def _publish(self) -> None:
        with Client(self.server.url) as client:
            while not self.over.is_set():
                first = self.acknowledged
                events = [{"number": n, "lane": n % STANDING} for n in range(first, first + A_REQUEST)]
                key = uuid.uuid4().hex
                self._insist(lambda events=events, key=key: client.publish(events, key=key))  # type: ignore[misc]
                self.acknowledged = first + A_REQUEST
                time.sleep(0.02)

    def _come_and_go(self) -> None:
        drawn = random.Random(self.seed)
        with Client(self.server.url) as client:
            while not self.over.is_set():
                lane = drawn.randrange(STANDING)
                made = self._insist(lambda lane=lane: client.subscribe(f"lane = {lane}"))  # type: ignore[misc]
                if made is None:
                    return
                # Whatever the publisher has in hand may or may not be seen; what it begins after this must be.
                one = Passing(made, lane, self.acknowledged + A_REQUEST)
                self.passing.append(one)
                # Few stay: what each was told is read in full at the end.
                if drawn.random() < 0.9:
                    one.last = self.acknowledged
                    self._insist(one.subscription.cancel)
                time.sleep(0.5)

    def _read(self, lane: int) -> None:
        """As a subscriber would: the client takes up lost connections, and drops what it has seen."""
        subscription = self.standing[lane]
        mine = self.live.setdefault(subscription.id, [])
        with Client(self.server.url) as client:
            again = client.subscription(subscription.id, subscription.ticket)
            for notification in again.notifications():
                mine.append(notification)
                if self.over.is_set() and len(mine) >= len(range(lane, self.acknowledged, STANDING)):
                    return

    def _insist(self, act: Callable[[], Any]) -> Any:
        """Until it is acknowledged; a refusal (4xx) is a failure of its own."""
        while True:
            try:
                return act()
            except ServiceUnreachable:
                time.sleep(0.1)
            except ServiceError as error:
                if error.status == 404:  # cancelled by an attempt whose answer was lost
                    return None
                if error.status < 500:
                    raise
                time.sleep(0.1)

    def settle(self, threads: list[threading.Thread]) -> Toll:
        """Stops the fire, lets the server finish its work, and counts."""
        self.over.set()
        for thread in threads[:2]:
            thread.join(60)
        toll = Toll(published=self.acknowledged, subscribed=len(self.passing))
        deadline = time.monotonic() + SETTLED
        with Client(self.server.url) as client:
            for lane, subscription in enumerate(self.standing):
                expected = set(range(lane, self.acknowledged, STANDING))
                told = _all(client, subscription, len(expected), deadline)
                self._count(toll, told, expected, expected)
            for one in self.passing:
                last = self.acknowledged if one.last is None else one.last
                sure = {n for n in range(one.first, last) if n % STANDING == one.lane}
                may = set(range(one.lane, self.acknowledged, STANDING))
                if one.last is None:
                    self._count(toll, _all(client, one.subscription, len(sure), deadline), sure, may)
                else:
                    toll.cancelled += 1
            toll.orphaned = len(self._unknown())
        for thread in threads[2:]:
            thread.join(max(1.0, deadline - time.monotonic()))
        for lane, subscription in enumerate(self.standing[:READ_LIVE]):
            read = [n.event["number"] for n in self.live[subscription.id]]
            toll.read_live += len(read)
            toll.live_repeated += len(read) - len(set(read))
            toll.live_missing += len(set(range(lane, self.acknowledged, STANDING)) - set(read))
        return toll

    def _unknown(self) -> set[str]:
        """Subscriptions that are active though nobody has them, or were cancelled and are active all the same."""
        known = {one.id for one in self.standing} | {one.subscription.id for one in self.passing if one.last is None}
        active: set[str] = set()
        with Client(self.server.url, self.server.key) as client:
            after: dict[str, str] | None = {}
            while after is not None:
                params = {"state": "active", "limit": "1000", **after}
                found = client.send(Request("GET", "/v1/subscriptions", params=params))
                active |= {one["id"] for one in found["items"]}
                after = {"after": found["next"]} if found.get("next") else None
        return active ^ known

    @staticmethod
    def _count(toll: Toll, told: list[Notification], sure: set[int], may: set[int]) -> None:
        numbers = [notification.event["number"] for notification in told]
        toll.lost += len(sure - set(numbers))
        toll.spurious += len(set(numbers) - may)
        toll.repeated += len(told) - len({notification.id for notification in told})
        toll.unordered += sum(later < earlier for earlier, later in pairwise(numbers))


def _all(client: Client, subscription: Subscription, expected: int, deadline: float) -> list[Notification]:
    """Everything a subscription was ever told, once there is as much as there must be."""
    told: list[Notification] = []
    reader = client.subscription(subscription.id, subscription.ticket)
    while True:
        enough = len(told) >= expected
        page = reader.poll(told[-1].cursor if told else "", limit=1000, wait=0.0 if enough else 1.0)
        told += page
        if not page and (enough or time.monotonic() > deadline):
            return told
