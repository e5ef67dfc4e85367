"""Parts of one running server for its routes, with probes, allowances of anonymous callers, and a cache of API keys."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Generic, Protocol, TypeVar

import pyarrow as pa
from anyio import CapacityLimiter, fail_after, to_thread
from fastapi import Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from tamis.eventlog import NotAppended
from tamis.schema import Schema
from tamis.service.base.configuration import LimitSettings, Settings
from tamis.service.base.offering import NOTHING, USUAL, Algorithms, Offering
from tamis.service.examining.pool import Examiners
from tamis.service.http.metrics import Meter, Metrics, counted
from tamis.service.intake.allowances import Claimant, Line, Places, RateLimit
from tamis.service.store import Key, Store
from tamis.service.store.store import FollowedSchema

if TYPE_CHECKING:
    from tamis.eventlog import EventLog
    from tamis.service.delivery import Delivery
    from tamis.service.network import Bridge
    from tamis.service.store import Store
    from tamis.service.worker import Supervisor


# Probes of parts that may hang: one at a time, in a thread of its own, with a time limit.

T = TypeVar("T")

PATIENCE: Final = 2.0  # seconds


class Probe(Generic[T]):
    """Health check of a part, shared by all concurrent callers. For one event loop at a time.

    Callers during a check get the same answer. So a part that hangs blocks one thread of its own, however many callers
    come and give up, and none of those that serve requests.
    """

    def __init__(self, ask: Callable[[], T], patience: float = PATIENCE) -> None:
        self._ask = ask
        self._patience = patience
        self._asked: asyncio.Future[T] | None = None

    async def answer(self) -> T:
        """Answer of the part, or its error; a TimeoutError after some seconds."""
        loop = asyncio.get_running_loop()
        if self._asked is None or self._asked.done() or self._asked.get_loop() is not loop:
            self._asked = self._begun(loop)
        async with asyncio.timeout(self._patience):
            return await asyncio.shield(self._asked)

    def _begun(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[T]:
        asked: asyncio.Future[T] = loop.create_future()
        # Perhaps nobody waits any more.
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())

        def settle(answer: T | None, error: BaseException | None) -> None:
            if asked.cancelled():
                return
            if error is not None:
                asked.set_exception(error)
            else:
                asked.set_result(answer)  # type: ignore[arg-type]

        def work() -> None:
            answer, error = None, None
            try:
                answer = self._ask()
            except Exception as failed:  # noqa: BLE001 - it is raised where the answer is awaited
                error = failed
            # The loop may have ended meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, answer, error)

        # Not of a pool: at the end of the program, pools wait for their threads.
        threading.Thread(target=work, name="probe", daemon=True).start()
        return asked


# Allowances of callers without a key: the number of stored things per address.

K = TypeVar("K", bound=Hashable)

BACKTESTS_UNDER_WAY: Final = 10  # of one key, or all without one: each goes over the whole log
ADVERTISEMENTS_IN_FORCE: Final = 1_000  # of one key, or all without one

_FEW: Final = 10  # that may be looked at each time
_LOOKS_SECONDS: Final = 10.0  # between two looks at what one address still has, when that was too much


class Asks(Protocol):
    """Protocol of a caller: the key that things are kept under, or an address."""

    @property
    def owner(self) -> str: ...
    @property
    def address(self) -> str: ...


class Standing(Generic[K]):
    """Counts stored things of one kind by the address that made them, until each has ended.

    Callers without a key share one allowance in the store, which knows no addresses. One address has half of that at
    most; its things are remembered here as long as the process runs, and earlier ones count for nobody. Safe from any
    thread.
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
        """Reserves room for one more, named once it is made; None: the caller has reached its share.

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
    """Allowance of one address for each kind of thing that outlives its request."""

    def __init__(self, store: Store, limits: LimitSettings) -> None:
        self.subscriptions = Standing[int](limits.subscriptions_per_key, lambda ids: store.subscriptions.active(ids))
        self.advertisements = Standing[str](ADVERTISEMENTS_IN_FORCE, lambda ids: store.advertisements.in_force(ids))
        self.backtests = Standing[str](BACKTESTS_UNDER_WAY, lambda ids: store.backtests.under_way(ids))


# Cache of API keys, so that not every request asks the store.

LONGEST_SECRET: Final = 200

_SECONDS: Final = 2.0  # a key revoked by another process is refused after at most that
_REMEMBERED: Final = 10_000


class KeyRing:
    """Cache of API keys by the hash of their secret, for two seconds each. Used by the event loop's thread only.

    Only keys that were found are cached: a key made a moment from now is found at once.
    """

    def __init__(self, find: Callable[[str], Key | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._find = find
        self._clock = clock
        self._known: dict[bytes, tuple[float, Key]] = {}

    async def find(self, secret: str) -> Key | None:
        """Key of a secret; None if it is unknown, malformed or revoked."""
        if len(secret) > LONGEST_SECRET or not secret.isascii():
            return None
        digest = hashlib.sha256(secret.encode()).digest()
        known = self._known.get(digest)
        if known is not None and known[0] > self._clock():
            return known[1]
        key = await run_in_threadpool(self._find, secret)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        if key is not None:
            self._known[digest] = (self._clock() + _SECONDS, key)
        else:
            self._known.pop(digest, None)
        return key

    def forget(self) -> None:
        """Clears the cache: a key was revoked."""
        self._known = {}


_EXAMINERS: Final = 4
_EXAMINED: Final = 2_000  # filters of one caller that wait to be read
_LOG_READERS: Final = 4
_LOG_SECONDS: Final = 1.5  # that a reader of the log waits for others


class Service:
    """Parts of a running server.

    Everything but the schema stays as it was made; `followed` is that, as it grows.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        log: EventLog,
        delivery: Delivery,
        supervisor: Supervisor,
        followed: FollowedSchema,
        offering: Offering = NOTHING,
        algorithms: Algorithms = USUAL,
        bridge: Bridge | None = None,
    ) -> None:
        self.settings = settings
        self.limits = settings.limits
        self.store = store
        self.log = log
        self.delivery = delivery
        self.supervisor = supervisor
        self.offering = offering
        self.algorithms = algorithms  # that the pipeline process matches by
        self.bridge = bridge  # to a network of brokers, if the server is part of one
        self.key_ring = KeyRing(store.keys.find)
        self.metrics = Metrics()
        self.meter = Meter()
        self.rates = RateLimit(settings.limits.requests_per_second, settings.limits.request_burst)
        self.openings = RateLimit(settings.limits.listeners_per_second, settings.limits.listener_burst)
        self.allowances = Allowances(store, settings.limits)
        self.examiners = Examiners(settings)
        self.readers = Places(settings.limits.listeners)
        self._examining = Line(_EXAMINERS, _EXAMINED)
        self._log_readers = CapacityLimiter(_LOG_READERS)
        self.head_probe = Probe(lambda: store.notifications.head())
        self.log_probe = Probe(lambda: log.size())
        self.counts_probe = Probe(lambda: counted(store))
        self.log_failed: float | None = None  # when (monotonic) the log took nothing; None since it took something
        self.log_took = float("-inf")  # when (monotonic) the log last took something
        self.followed = followed

    async def examine(self, who: Claimant, work: Callable[[], T]) -> T:
        """Parses a filter, in a thread. A large one takes tenths of a second, so only a few are parsed at a time.

        Others wait: without that, they would delay key lookups and polls. Evaluating a parsed filter is the
        `examiners`' work: it can take any time.
        """
        async with self._examining.place(who):
            return await to_thread.run_sync(work, limiter=CapacityLimiter(1))

    def learned(self) -> dict[str, tuple[float | None, float | None]]:
        """Learned costs and selectivities of operators, by name."""
        return {name: (one.cost, one.selectivity) for name, one in self.supervisor.status().operators.items()}

    async def recent_events(self, count: int) -> pa.Table:
        """Newest records of the log. A log that is down takes its time to answer: the probe delays nothing else."""
        try:
            with fail_after(_LOG_SECONDS):
                await self._log_readers.acquire()
        except TimeoutError:
            raise NotAppended("too many wait for the event log") from None
        try:
            return await to_thread.run_sync(self.log.recent, count, limiter=CapacityLimiter(1))
        finally:
            self._log_readers.release()

    def ignores_unknown(self, version: int) -> bool:
        """True if unknown attributes are no reason to refuse an event under this version of the schema.

        Without a schema, which is version 0, events may have any form.
        """
        return not version or self.settings.unknown_attributes == "ignore"

    @property
    def schema(self) -> Schema:
        """Serving schema as it is now."""
        return self.followed.schema

    @property
    def schema_version(self) -> int:
        """Version of the schema in the store."""
        return self.followed.version


async def current_service(connection: HTTPConnection) -> Service:
    """Service that a request or socket came to."""
    service: Service = connection.app.state.service
    return service


Serving = Annotated[Service, Depends(current_service)]
