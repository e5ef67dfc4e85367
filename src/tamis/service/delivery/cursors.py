"""How far each webhook and topic has come, on its way into the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Final

from tamis.errors import TamisError
from tamis.service.delivery.clock import Clock
from tamis.service.store import DeliveryState, Store
from tamis.service.store.errors import warn

SAVE_SECONDS: Final = 0.1

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
        """What is not saved is not ours to say any more: somebody else has gone on from what was."""
        self._waiting = {}

    def _put_back(self, states: dict[int, DeliveryState]) -> None:
        self._waiting = {**states, **self._waiting}
        self._some.set()
