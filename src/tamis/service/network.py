"""Bridge between a service and a network of brokers: publishes the log's events there, and appends what its
subscriptions need.

The service's own broker runs in a thread, and the bridge is its client.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.broker.access import Access, BrokerAway, BrokerRefusal, require_free
from tamis.broker.broker import Broker, merging_of
from tamis.broker.broker import BrokerSettings as Routing
from tamis.broker.client import BrokerClient, BrokerThread
from tamis.broker.events import Delivered
from tamis.broker.outbox import QueueBound
from tamis.broker.store import BrokerStore, BrokerStoreError
from tamis.errors import FilterError, TamisError
from tamis.eventlog import EventLog, NotAppended
from tamis.eventlog.spool.spool_log import SpoolLog
from tamis.language import CalledFilter, Filter, Limits, Signatures, normal_form, parse, print_filter
from tamis.schema import Schema
from tamis.service.base.configuration import ConfigurationError, Settings
from tamis.service.base.events import published_text
from tamis.service.base.offering import Offering
from tamis.service.intake.arrow_rows import row_text
from tamis.service.intake.door import judge
from tamis.service.store import Store
from tamis.service.store.store import FollowedSchema

# Events between log and network: JSON texts on the log, rows of a batch in the network.

ID: Final = "tamis.id"
BODY: Final = "tamis.body"
_FROM_OTHERS: Final = "via:"
_ANY_SIZE: Final = 1 << 62


def network_schema(schema: Schema) -> Schema:
    """Schema of the network: the serving schema, and on every event type the event as published."""
    added = {name: "string" for name in (ID, BODY) if name not in schema.attributes}
    optional = {
        kind.name: {name: "optional" for name in (ID, BODY) if name not in kind.annotations}
        for kind in schema.event_types.values()
    }
    return schema.extend(attributes=added, optional=optional) if added else schema


def outgoing(schema: Schema, records: pa.RecordBatch) -> pa.RecordBatch:
    """Records of the log as a batch for the network, without those that came from there."""
    columns = dict(zip(records.schema.names, records.columns, strict=True))
    own = pc.invert(pc.starts_with(columns["id"], _FROM_OTHERS))
    ids, bodies = columns["id"].filter(own), columns["body"].filter(own)
    checked = schema.check_json(bodies, ignore_unknown=True)
    events = checked.valid
    kept = [
        (name, column)
        for name, column in zip(events.schema.names, events.columns, strict=True)
        if name not in (ID, BODY)
    ]
    kept += [(ID, ids.take(checked.valid_rows)), (BODY, _published(bodies.take(checked.valid_rows)))]
    return pa.RecordBatch.from_arrays([column for _, column in kept], [name for name, _ in kept])


def bodies_of(events: pa.Array, schema: Schema) -> pa.Array:
    """Bodies for the log. Attributes that this service's schema lacks were no fault where the event was published.

    An event that does not fit for another reason stays as it is: matching makes it a dead letter.
    """
    judged = judge(schema, events, ignore_unknown=True, event_bytes=_ANY_SIZE)
    bodies = events.to_pylist()
    for row, body in zip(judged.rows.to_pylist(), judged.bodies.to_pylist(), strict=True):
        bodies[row] = body
    return pa.array(bodies, pa.string())


def _published(bodies: pa.Array) -> pa.Array:
    return pa.array(map(published_text, bodies.to_pylist()), pa.string())


def incoming(delivered: Delivered) -> tuple[pa.Array, pa.Array]:
    """Ids and events as published. An id names the service where an event entered, so that it does not go out again."""
    events, names = delivered.events, delivered.events.schema.names
    count = events.num_rows
    nothing = pa.nulls(count, pa.string())
    given = events.column(names.index(ID)).cast(pa.string()) if ID in names else nothing
    texts = events.column(names.index(BODY)).cast(pa.string()) if BODY in names else nothing
    if texts.null_count:  # published at a broker, not at a service
        bare = events.select([name for name in names if name not in (ID, BODY)])
        texts = pc.coalesce(texts, pa.array([row_text(row) for row in bare.to_pylist()], pa.string()))
    if given.null_count:
        drawn = [f"{delivered.epoch}-{delivered.number}-{row}" for row in delivered.rows.to_pylist()]
        given = pc.coalesce(given, pa.array(drawn, pa.string()))
    origin = re.sub(r"[^!-~]", "?", delivered.origin)
    return pc.binary_join_element_wise(f"{_FROM_OTHERS}{origin}:", given, ""), texts


# Filters that the network is asked for.

_logger: Final = logging.getLogger("tamis.service")
_PAGE: Final = 50_000


class WantedFilters:
    """Filters of all active subscriptions, each once, by an id made of its text.

    A filter that calls operators is asked for without the calls: the matching service makes them. Follows the store by
    its revisions, from the first on at every start.
    """

    def __init__(self, store: Store, schema: Schema, limits: Limits, signatures: Callable[[], Signatures]) -> None:
        self._store = store
        self._schema = schema
        self._limits = limits
        self._signatures = signatures
        self._revision = 0
        self._texts: dict[int, str] = {}  # by the subscription's number
        self._counts: dict[str, int] = {}

    def refresh(self) -> bool:
        """Applies the store's changes; returns True if there were any."""
        changed = False
        while rows := self._store.subscriptions.changes(self._revision, _PAGE):
            changed = True
            self._revision = rows[-1].revision
            for row in rows:
                self._put(row.number, None if row.filter is None else self._plain(row.filter))
        return changed

    def filters(self) -> dict[str, str]:
        """Filters by id."""
        return {blake2b(text.encode(), digest_size=16).hexdigest(): text for text in self._counts}

    def _put(self, number: int, text: str | None) -> None:
        old = self._texts.pop(number, None)
        if old is not None:
            self._counts[old] -= 1
            if not self._counts[old]:
                del self._counts[old]
        if text is not None:
            self._texts[number] = text
            self._counts[text] = self._counts.get(text, 0) + 1

    def _plain(self, text: str) -> str | None:
        try:
            form = normal_form(parse(text, self._schema, self._limits, self._signatures()), self._schema, self._limits)
        except FilterError as error:
            _logger.warning("the network is not told of a filter that its schema does not know: %s", error)
            return None
        if isinstance(form, CalledFilter):
            form = Filter(tuple(dict.fromkeys(conjunct for case in form.cases for conjunct in case.guard)))
        return print_filter(form, self._schema)


CLIENT: Final = "service"
_EVERYTHING: Final = "everything"
_PAUSE: Final = 0.2
_ROWS: Final = 5_000
_STEP: Final = 1_000  # filters said at a time
_PATIENCE: Final = 60.0
_REVIVAL: Final = 5.0  # seconds until a broker that has ended begins anew


class Bridge:
    """A service in a network of brokers, from `start` to `stop`.

    Its broker runs on a thread of its own, and begins anew over its state if it ends. Three more speak to it as a
    client: one tells it what the store's subscriptions ask for, one publishes what is new on the log, and one appends
    to the log what comes. A publish has a number by the log's, one more than that of the event after it, and the broker
    remembers the last: so it goes on where it was. What comes is appended under a key made of its name in the network,
    so that nothing is appended twice.
    """

    def __init__(
        self, settings: Settings, followed: FollowedSchema, store: Store, log: EventLog, offering: Offering
    ) -> None:
        if not isinstance(log, SpoolLog):
            raise ConfigurationError("a network of brokers needs a log of the service's own: a spool, not Kafka")
        given = settings.broker
        schema = followed.schema
        self._followed = followed
        self._schema = network_schema(schema)
        self._log = log
        limits = settings.limits.filter
        self._wanted = WantedFilters(store, self._schema, limits, lambda: offering.signatures(schema))
        self._routing = Routing(
            policy=given.policy,
            merging=merging_of(given.imt),
            link_bound=QueueBound(given.queue_events, given.queue_bytes, given.overflow),
            client_bound=QueueBound(overflow="block"),
        )
        self._access = Access.read(given.token_file, given.tls_cert, given.tls_key, given.tls_ca)
        if given.listen:
            require_free(given.listen)  # complains now, not when the server has said that it runs
        self._settings = settings
        broker = self._opened()
        for name in given.forget:
            broker.links.forget(name)
        self._broker = BrokerThread(broker, given.listen or None, given.links, self._access)
        self._reviving = threading.Lock()
        self._client: BrokerClient | None = None
        self._told: dict[str, str] | None = None  # what the broker has of the subscriptions
        self._threads: list[threading.Thread] = []
        self._ended = threading.Event()
        self._heard: Callable[[int, int], None] = lambda end, partition: None
        self.error: str | None = None

    async def start(self, heard: Callable[[int, int], None]) -> str | None:
        """Starts, and returns the address listened at; `heard` is called with the log's end whenever events arrived."""
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        address = await asyncio.to_thread(self._broker.start)
        # Whichever broker it is by then.
        self._client = BrokerClient(lambda said: self._broker.speak(said), CLIENT, echo=False, timeout=None)
        self._begin(self._keep_broker, address)
        for work in (self._tell, self._publish, self._take):
            self._begin(self._keep, work)
        return address

    async def stop(self) -> None:
        """Stops in order; the broker keeps what is under way."""
        self._ended.set()
        if self._client is not None:
            # What came last may not be on the log; if it is, it will be known there by its key.
            await asyncio.to_thread(self._client.close, done=False)
        await asyncio.to_thread(self._stop_broker)
        for thread in self._threads:
            await asyncio.to_thread(thread.join, _PATIENCE)

    def status(self) -> dict[str, Any]:
        """Status of the broker, without its clients."""
        try:
            told = self._broker.status()
        except BrokerStoreError as error:
            ended: dict[str, Any] = {"name": None, "policy": None, "brokers": 0, "links": [], "dead_letters": 0}
            return ended | {"error": f"the broker begins anew: {self._broker.failure or error}"}
        del told["clients"]
        return told | {"error": self.error}

    def _opened(self) -> Broker:
        store = BrokerStore.open(self._settings.state / "broker", self._settings.broker.name)
        return Broker(self._schema, store, self._routing)

    def _keep_broker(self, address: str | None) -> None:
        """Runs the broker, and restarts it if it cannot write its state: from the last written state, at the same
        address.
        """
        while not self._ended.wait(_PAUSE):
            if self._broker.failure is None or self._ended.wait(_REVIVAL):
                continue
            with self._reviving:
                if self._ended.is_set():
                    return
                try:
                    self._revive(address)
                except Exception as error:
                    told = isinstance(error, TamisError)
                    _logger.warning("the broker cannot begin anew: %s; it is tried again", error, exc_info=not told)

    def _revive(self, address: str | None) -> None:
        broker = self._opened()
        fresh = BrokerThread(broker, address, self._settings.broker.links, self._access)
        try:
            fresh.start()
        except BaseException:
            broker.store.close()
            raise
        self._broker = fresh

    def _stop_broker(self) -> None:
        with self._reviving:
            self._broker.stop()

    @property
    def _attached(self) -> BrokerClient:
        assert self._client is not None
        return self._client

    def _begin(self, work: Callable[..., None], *given: Any) -> None:
        thread = threading.Thread(target=work, args=given, name=f"tamis-bridge-{work.__name__}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _keep(self, work: Callable[[], None]) -> None:
        """Repeats a task; a failure is logged, and the task retried."""
        while not self._ended.is_set():
            try:
                work()
                self.error = None
            except Exception as error:
                if self._ended.is_set():
                    return
                self.error = str(error)
                _logger.warning("the network: %s; it is tried again", error, exc_info=not _expected(error))
            self._ended.wait(_PAUSE)

    def _tell(self) -> None:
        """Subscribes at the broker to the store's filters, as they change."""
        client = self._attached
        if self._told is None:
            self._told = dict(client.attached().subscriptions)
        if _EVERYTHING not in client.attached().advertisements:
            client.advertise({_EVERYTHING: "TRUE"})
        while not self._ended.is_set():
            self._wanted.refresh()
            wanted = self._wanted.filters()
            told = self._told
            for some in _in_steps([id for id in wanted if id not in told]):
                client.subscribe({id: wanted[id] for id in some})
                told.update((id, wanted[id]) for id in some)
            for some in _in_steps([id for id in told if id not in wanted]):
                client.unsubscribe(some)
                for id in some:
                    del told[id]
            self._ended.wait(_PAUSE)

    def _publish(self) -> None:
        """Publishes new events of the log."""
        client = self._attached
        done = client.attached().published - 1
        first, end = self._log.bounds()
        if done < 0:  # what was published before there was a network stays here
            done = end
            client.publish([], number=done + 1)
        done = max(done, first)  # what is not kept any more cannot go out
        while not self._ended.is_set():
            _, end = self._log.bounds()
            for records in self._log.read(done, end, _ROWS) if done < end else ():
                done += records.num_rows
                client.publish(outgoing(self._schema, records), number=done + 1)
            self._ended.wait(_PAUSE)

    def _take(self) -> None:
        """Appends arriving events to the log."""
        for delivered in self._attached.deliveries(timeout=1.0):
            ids, events = incoming(delivered)
            self._followed.refresh()
            bodies = bodies_of(events, self._followed.schema)
            key = f"network\0{delivered.origin}\0{delivered.epoch}\0{delivered.number}"
            while True:
                appending = self._log.append(ids, bodies, key=key, content=events)
                try:
                    receipt = asyncio.run_coroutine_threadsafe(appending, self._loop).result()
                    break
                except NotAppended as error:
                    self.error = str(error)
                    if self._ended.wait(1.0):
                        return
            if not receipt.repeated:
                self._loop.call_soon_threadsafe(self._heard, receipt.first + receipt.count, receipt.partition)


def open_bridge(
    settings: Settings, followed: FollowedSchema, store: Store, log: EventLog, offering: Offering
) -> Bridge | None:
    """Opens the bridge that the settings ask for; None without one."""
    return Bridge(settings, followed, store, log, offering) if settings.broker.wanted else None


def _in_steps(ids: list[str]) -> list[list[str]]:
    return [ids[place : place + _STEP] for place in range(0, len(ids), _STEP)]


def _expected(error: Exception) -> bool:
    return isinstance(error, BrokerAway | BrokerRefusal)
