"""Parts of one server, for the routes to use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import pyarrow as pa
from anyio import CapacityLimiter, fail_after, to_thread
from fastapi import Depends
from starlette.requests import HTTPConnection

from tamis.eventlog import NotAppended
from tamis.schema import Schema
from tamis.service.base.algorithms import USUAL, Algorithms
from tamis.service.base.configuration import Settings
from tamis.service.base.offering import NOTHING, Offering
from tamis.service.examining.pool import Examiners
from tamis.service.http.key_ring import KeyRing
from tamis.service.http.metrics import Meter, Metrics
from tamis.service.http.observing import counted
from tamis.service.http.probing import Probe
from tamis.service.http.standing import Allowances
from tamis.service.intake.allowances import Claimant, Line, Places, RateLimit
from tamis.service.store.followed_schema import FollowedSchema

if TYPE_CHECKING:
    from tamis.eventlog import EventLog
    from tamis.service.delivery import Delivery
    from tamis.service.network import Bridge
    from tamis.service.store import Store
    from tamis.service.worker import Supervisor


_EXAMINERS: Final = 4
_EXAMINED: Final = 2_000  # filters of one caller that wait to be read
_LOG_READERS: Final = 4
_LOG_SECONDS: Final = 1.5  # that a reader of the log waits for others

T = TypeVar("T")


class Service:
    """The parts of a running server.

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
        """Reads a filter, in a thread. A large one takes tenths of a second, so only a few at a time are at it.

        The others wait: without that, they would hold up whoever looks up a key or reads a notification. What is done
        with a filter once it is read is for `examiners`: it can take any time.
        """
        async with self._examining.place(who):
            return await to_thread.run_sync(work, limiter=CapacityLimiter(1))

    def learned(self) -> dict[str, tuple[float | None, float | None]]:
        """Learned costs and selectivities of operators, by name."""
        return {name: (one.cost, one.selectivity) for name, one in self.supervisor.status().operators.items()}

    async def recent_events(self, count: int) -> pa.Table:
        """The log's newest records. A log that is away takes its time to say so: it holds up nobody else."""
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

        Where nobody has given a schema, which is version 0, events may have any form: nothing of them is amiss.
        """
        return not version or self.settings.unknown_attributes == "ignore"

    @property
    def schema(self) -> Schema:
        """The serving schema as it is now."""
        return self.followed.schema

    @property
    def schema_version(self) -> int:
        """The number of the schema in the store."""
        return self.followed.version


async def current_service(connection: HTTPConnection) -> Service:
    """The service that a request or socket came to."""
    service: Service = connection.app.state.service
    return service


Serving = Annotated[Service, Depends(current_service)]
