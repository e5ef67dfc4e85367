"""Allowances of callers without a key: how much may stand in the service for one address."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from tamis.service.base.configuration import LimitSettings
from tamis.service.store import Store

K = TypeVar("K", bound=Hashable)

BACKTESTS_UNDER_WAY: Final = 10  # of one key, or all without one: each goes over the whole log
ADVERTISEMENTS_IN_FORCE: Final = 1_000  # of one key, or all without one

_FEW: Final = 10  # that may be looked at each time
_LOOKS_SECONDS: Final = 10.0  # between two looks at what one address still has, when that was too much


class Asks(Protocol):
    """A caller: the key that things are kept under, or an address."""

    @property
    def owner(self) -> str: ...
    @property
    def address(self) -> str: ...


class Standing(Generic[K]):
    """Things of one kind by the address that made them, each counted until it has ended.

    Callers without a key share one allowance in the store, which knows nothing of addresses. One address has half of
    that at most; it is remembered here, as long as the process runs, and what was made before counts for nobody. Safe
    from any thread.
    """

    def __init__(self, allowance: int, standing: Callable[[Collection[K]], Collection[K]]) -> None:
        self.share = max(allowance // 2, 1)
        self._standing = standing  # which of them have not ended
        self._made: defaultdict[str, set[K]] = defaultdict(set)
        self._coming: Counter[str] = Counter()
        self._looked: dict[str, float] = {}
        self._lock = threading.Lock()

    @contextmanager
    def one_more(self, caller: Asks) -> Iterator[Callable[[K], None] | None]:
        """Room for one more, which is named once it is made; None: the caller has its share already.

        A key has an allowance of its own, which the store counts.
        """
        if caller.owner:
            yield lambda made: None
            return
        address = caller.address
        with self._lock:
            room = self._has_room(address)
            self._coming[address] += room
        if not room:
            yield None
            return
        try:
            yield partial(self._add, address)
        finally:
            with self._lock:
                self._coming[address] -= 1
                if not self._coming[address]:
                    del self._coming[address]

    def _add(self, address: str, made: K) -> None:
        with self._lock:
            self._made[address].add(made)

    def _has_room(self, address: str) -> bool:
        if len(self._made.get(address, ())) + self._coming[address] < self.share:
            return True
        now = time.monotonic()
        # To look is a question to the store, of many rows perhaps: whoever has too much does not set the pace of it.
        if now - self._looked.get(address, -_LOOKS_SECONDS) < _LOOKS_SECONDS and len(self._made[address]) > _FEW:
            return False
        self._looked[address] = now
        left = set(self._standing(self._made.pop(address, set())))
        if left:
            self._made[address] = left
        if len(left) + self._coming[address] < self.share:
            del self._looked[address]
            return True
        return False


class Allowances:
    """Allowance of one address for each kind of thing that outlives the request that made it."""

    def __init__(self, store: Store, limits: LimitSettings) -> None:
        self.subscriptions = Standing[int](limits.subscriptions_per_key, lambda ids: store.subscriptions.active(ids))
        self.advertisements = Standing[str](ADVERTISEMENTS_IN_FORCE, lambda ids: store.advertisements.in_force(ids))
        self.backtests = Standing[str](BACKTESTS_UNDER_WAY, lambda ids: store.backtests.under_way(ids))
