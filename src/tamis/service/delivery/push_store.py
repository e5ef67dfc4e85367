"""Pushing and the store: how far each webhook and topic has come, on its way in, and which subscriptions changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Final

from tamis.errors import TamisError
from tamis.service.delivery.clock import Clock
from tamis.service.store import DeliveryState, Store, Subscription
from tamis.service.store.errors import warn

SAVE_SECONDS: Final = 0.1
_PAGE: Final = 1_000
_CHANGES: Final = 20_000

_log = logging.getLogger(__name__)


class Cursors:
    """States that are not saved yet, the newest of each subscription. Belongs to the event loop.

    Many are saved in one transaction, at most every `SAVE_SECONDS`, so that webhooks do not keep the pipeline from
    writing. Whoever is killed repeats what was acknowledged in that time; a notification's id tells the subscriber.
    """

    def __init__(self, store: Store, clock: Clock, executor: Executor) -> None:
        self._store = store
        self._clock = clock
        self._executor = executor
        self._waiting: dict[int, DeliveryState] = {}
        self._some = asyncio.Event()

    def put(self, state: DeliveryState) -> None:
        """To be saved soon."""
        self._waiting[state.subscription] = state
        self._some.set()

    async def follow(self) -> None:
        """Saves what comes, until it is cancelled."""
        while True:
            await self._some.wait()
            await self._clock.sleep(SAVE_SECONDS)
            await self.save()

    async def save(self) -> None:
        """Saves what waits; what cannot be saved waits on."""
        self._some.clear()
        states, self._waiting = self._waiting, {}
        if not states:
            return
        work: Callable[[], None] = partial(self._store.deliveries.save, list(states.values()))
        try:
            await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except TamisError as error:
            warn(_log, "saving states of deliveries failed", error)
            self._put_back(states)
        except asyncio.CancelledError:
            self._put_back(states)
            raise

    def forget(self) -> None:
        """Forgets what is not saved: somebody else has gone on from what was."""
        self._waiting = {}

    def _put_back(self, states: dict[int, DeliveryState]) -> None:
        self._waiting = {**states, **self._waiting}
        self._some.set()


class Changes:
    """Follows the store's revisions. One thread at a time.

    A subscription's number is the revision that it was made under. So those that are pushed to are found by their
    numbers, each once, and nobody looks twice at the many that are pulled.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision = 0
        self._seen = 0

    def start(self) -> None:
        """Changes count from now on."""
        self._revision = self._store.subscriptions.revision

    def find_all(self) -> None:
        """Finds the subscriptions that are pushed to once more, from the first on."""
        self._seen = 0

    def pushed(self) -> list[Subscription]:
        """Some subscriptions with a webhook or a topic that were not seen before; empty if there are no more."""
        newest = self._store.subscriptions.revision
        if newest == self._seen:
            return []
        found = self._store.subscriptions.pushed(self._seen, _PAGE)
        self._seen = found[-1].number if len(found) == _PAGE else newest
        return found

    def changed(self) -> set[int]:
        """The numbers of subscriptions changed since the last time, but for new ones."""
        numbers: set[int] = set()
        newest = self._store.subscriptions.revision
        while self._revision < newest:
            rows = self._store.subscriptions.changes(self._revision, _CHANGES)
            numbers.update(row.number for row in rows if row.number != row.revision)
            self._revision = rows[-1].revision if rows else newest
        return numbers
