"""Prometheus metrics of the server, rates and latency of the last minutes, and the store's counts behind the gauges.

One registry per application, so that several can live in one process.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tamis.service.store import State, Store
from tamis.service.worker import Batch, Fared

if TYPE_CHECKING:
    from tamis.service.http.service import Service


_REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LATENCY_SECONDS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0)

_COUNTED_OF_OPERATORS = {
    "calls": "Calls of the operator",
    "evaluations": "Evaluations of the operator, one per event",
    "held": "Evaluations that held",
    "unknown": "Evaluations without an answer, for any reason",
    "failures": "Evaluations that failed",
    "timeouts": "Evaluations that timed out",
    "seconds": "Time spent in calls",
}

# No `_created` samples: nobody reads them, and there would be one for each counter.
disable_created_metrics()  # type: ignore[no-untyped-call]


class MirroredCounter:
    """Counter whose total is kept elsewhere: exposes the value last set, under a name that ends in `_total`.

    A total that starts again from 0, as that of a restarted process, is a counter reset to Prometheus.
    """

    def __init__(self, name: str, about: str, registry: CollectorRegistry, labels: tuple[str, ...] = ()) -> None:
        self._name = name
        self._about = about
        self._labels = labels
        self._totals: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}
        registry.register(self)

    def set(self, total: float, *labels: str) -> None:
        """Sets the total."""
        self._totals[labels] = total

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Samples for the registry."""
        family = CounterMetricFamily(self._name, self._about, labels=self._labels)
        for labels, total in self._totals.copy().items():
            family.add_metric(labels, total)
        yield family


class _Knowable:
    """Gauge that is not always known. An unknown value has no sample: a 0 would be believed, and NaN spoils sums."""

    def __init__(self, name: str, about: str, *, registry: CollectorRegistry) -> None:
        self._name = name
        self._about = about
        self._value: float | None = None
        registry.register(self)

    def set(self, value: float | None) -> None:
        """Sets the value; None: not known."""
        self._value = value

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Samples for the registry."""
        family = GaugeMetricFamily(self._name, self._about)
        if self._value is not None:
            family.add_metric((), self._value)
        yield family


class Metrics:
    """Counters and gauges of one server. Safe from any thread."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.requests = Counter("tamis_http_requests", "Requests answered", ("operation", "status"), registry=registry)
        self.request_seconds = Histogram(
            "tamis_http_request_seconds",
            "Time to the first byte of the answer",
            ("operation",),
            buckets=_REQUEST_SECONDS,
            registry=registry,
        )
        self.published = Counter("tamis_events_published", "Events received", registry=registry)
        self.accepted = Counter("tamis_events_accepted", "Events accepted on the log", registry=registry)
        self.refused = Counter("tamis_events_refused", "Events refused at the door", registry=registry)
        self.ignored = Counter(
            "tamis_attributes_ignored",
            "Unknown attributes ignored, counted once per event",
            registry=registry,
        )
        self.repeated = Counter("tamis_events_repeated", "Events deduplicated by an idempotency key", registry=registry)
        self.batches = Counter("tamis_batches", "Micro-batches matched", registry=registry)
        self.matched_events = Counter(
            "tamis_events_matched", "Events matched against the subscriptions", registry=registry
        )
        self.matches = Counter("tamis_matches", "Pairs of an event and a subscription it satisfies", registry=registry)
        self.dead = Counter("tamis_events_dead", "Invalid events found in matching (dead letters)", registry=registry)
        self.batch_seconds = Histogram(
            "tamis_batch_seconds", "Duration of a micro-batch", buckets=_LATENCY_SECONDS, registry=registry
        )
        self.latency = Histogram(
            "tamis_match_latency_seconds",
            "Latency from an event's acceptance until its matches can be read",
            buckets=_LATENCY_SECONDS,
            registry=registry,
        )
        self.lag = _Knowable("tamis_lag_events", "Lag: events on the log that are not matched yet", registry=registry)
        self.subscriptions = _Knowable("tamis_subscriptions_active", "Active subscriptions", registry=registry)
        self.listeners = Gauge("tamis_listeners", "Listeners by server-sent events and WebSocket", registry=registry)
        self.delivered = MirroredCounter(
            "tamis_deliveries", "Notifications acknowledged by webhooks and Kafka", registry
        )
        self.handed_out = MirroredCounter("tamis_notifications_read", "Notifications read by subscribers", registry)
        self.delivery_failures = MirroredCounter("tamis_delivery_failures", "Failed delivery attempts", registry)
        self.breakers_open = Gauge("tamis_breakers_open", "Endpoints with an open circuit breaker", registry=registry)
        self.dead_letters = _Knowable("tamis_dead_letters", "Dead letters kept", registry=registry)
        self.operator_cost = _of_operators("cost", "Cost of an evaluation, declared or learned", registry)
        self.operator_selectivity = _of_operators("selectivity", "Share of evaluations that held, lately", registry)
        self.operator_suspended = _of_operators("suspended", "1 while the operator is suspended", registry)
        self.operator_counts = {
            name: MirroredCounter(f"tamis_operator_{name}", about, registry, ("operator",))
            for name, about in _COUNTED_OF_OPERATORS.items()
        }
        self.pipeline_up = Gauge("tamis_pipeline_up", "1 while the pipeline runs", registry=registry)
        self.batch_busy = Gauge(
            "tamis_batch_busy_seconds", "Running time of the micro-batch under way", registry=registry
        )
        self.suspensions = MirroredCounter(
            "tamis_subscriptions_suspended", "Subscriptions suspended for the matching time they took", registry
        )
        self.pipeline_restarts = MirroredCounter("tamis_pipeline_restarts", "Restarts of the pipeline", registry)

    def operator(self, name: str, fared: Fared) -> None:
        """Sets the counts of one operator."""
        self.operator_suspended.labels(name).set(fared.suspended)
        for gauge, known in ((self.operator_cost, fared.cost), (self.operator_selectivity, fared.selectivity)):
            if known is not None:
                gauge.labels(name).set(known)
        for counted, totals in self.operator_counts.items():
            totals.set(getattr(fared.tally, counted), name)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)


def _of_operators(name: str, about: str, registry: CollectorRegistry) -> Gauge:
    return Gauge(f"tamis_operator_{name}", about, ("operator",), registry=registry)


# Meter: rates and latency of the last minutes, for the status.

Counted = Literal["published", "matched", "delivered", "refused", "events_matched"]

_WINDOW: Final = 10  # seconds over which a rate is taken
_KEPT: Final = 300  # seconds
_LATENCY_WINDOW: Final = 60.0  # seconds
_LATENCIES: Final = 20_000  # publishes
_AWAITED: Final = 20_000  # publishes


class Meter:
    """Counts per second for five minutes, and latencies from accepted to matched for the last minute's publishes.

    `_awaited` has the publishes that are not known to be matched, by partition of the log: the number after the last
    event, and when it was accepted. Used by the event loop's thread only.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._seconds: deque[tuple[int, dict[Counted, int]]] = deque(maxlen=_KEPT)
        self._totals: dict[Counted, int] = {}
        self._latencies: deque[tuple[float, float]] = deque(maxlen=_LATENCIES)  # when it was matched, and how late
        self._awaited: dict[int, deque[tuple[int, float]]] = {}
        self._newest: dict[int, int] = {}  # the number after the last event accepted here

    def count(self, what: Counted, number: int) -> None:
        """Adds to the current second's count."""
        if not number:
            return
        second = int(self._clock())
        if not self._seconds or self._seconds[-1][0] != second:
            self._seconds.append((second, {}))
        counts = self._seconds[-1][1]
        counts[what] = counts.get(what, 0) + number
        self._totals[what] = self._totals.get(what, 0) + number

    def accepted(self, end: int, partition: int = 0) -> None:
        """Notes that events up to this number of a partition, exclusive, were accepted just now."""
        self._awaited.setdefault(partition, deque(maxlen=_AWAITED)).append((end, self._clock()))
        self._newest[partition] = max(self._newest.get(partition, 0), end)

    def matched(self, ends: Mapping[int, int]) -> list[float]:
        """Notes that events up to these numbers are matched; returns the latency of each publish among them, in
        seconds.
        """
        now = self._clock()
        waited = []
        for partition, end in ends.items():
            awaited = self._awaited.get(partition, deque())
            while awaited and awaited[0][0] <= end:
                waited.append(max(0.0, now - awaited.popleft()[1]))
        self._latencies.extend((now, seconds) for seconds in waited)
        return waited

    def await_nothing(self) -> None:
        """Stops waiting: another service matches these events, and will not report when."""
        self._awaited.clear()

    def unmatched(self, ends: Mapping[int, int]) -> int | None:
        """Number of events accepted here after these numbers; None if none was accepted here."""
        if not self._newest:
            return None
        return sum(max(0, newest - ends.get(partition, 0)) for partition, newest in self._newest.items())

    def total(self, what: Counted) -> int:
        """Total since the start."""
        return self._totals.get(what, 0)

    def rate(self, what: Counted) -> float:
        """Rate per second, over the last ten whole seconds."""
        now = self._clock()
        last = int(now) - 1
        found = sum(counts.get(what, 0) for second, counts in self._seconds if last - _WINDOW < second <= last)
        return found / max(1.0, min(_WINDOW, now - self._started))

    def latency(self, share: float) -> float | None:
        """Quantile of the seconds from accepted to matched, over the last minute's publishes.

        None if there were none: a slow start is not held against the server for ever.
        """
        since = self._clock() - _LATENCY_WINDOW
        while self._latencies and self._latencies[0][0] < since:
            self._latencies.popleft()
        if not self._latencies:
            return None
        ordered = sorted(seconds for _, seconds in self._latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def uptime(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._started


# Gauges and totals that are computed on request.

_STATES: Final[tuple[State, ...]] = ("active", "paused", "suspended", "expired", "cancelled")


def matched_ends(batch: Batch) -> dict[int, int]:
    """Number after the last matched event of each partition of the log; empty while not known.

    `processed` is where the batch began: only what is before it could not come again after a crash.
    """
    if batch.ends is not None:
        return {int(partition): end for partition, end in batch.ends.items()}
    return {} if batch.processed < 0 else {0: batch.processed + batch.events}


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of the store: subscriptions by state, dead letters, and the newest revision of subscriptions."""

    subscriptions: dict[str, int]
    dead_letters: int
    revision: int


def counted(store: Store) -> Counts:
    """Reads the counts from the store: not for the event loop."""
    return Counts(
        {state: store.subscriptions.count(None, state) for state in _STATES},
        store.dead_letters.count(),
        store.subscriptions.revision,
    )


def lag(service: Service) -> int | None:
    """Number of events on the log that are not matched yet; None while not known.

    What a service that matches no more heard last grows old: where it does not run here, another one matches.
    """
    pipeline = service.supervisor.status()
    last = pipeline.last if pipeline.state == "running" else None
    ends = {} if last is None else matched_ends(last)
    if last is None or not ends:
        return None
    unmatched = service.meter.unmatched(ends)
    if unmatched is None:
        return last.lag_events if last.lag_events >= 0 else None
    return unmatched


def observe(service: Service, counts: Counts | None) -> None:
    """Sets the metrics that are kept elsewhere; without `counts`, those of the store are left out."""
    metrics, pipeline = service.metrics, service.supervisor.status()
    metrics.pipeline_up.set(pipeline.state == "running")
    metrics.suspensions.set(pipeline.suspended)
    metrics.pipeline_restarts.set(pipeline.restarts)
    metrics.batch_busy.set(pipeline.busy)
    metrics.lag.set(lag(service))
    metrics.subscriptions.set(None if counts is None else counts.subscriptions["active"])
    metrics.dead_letters.set(None if counts is None else counts.dead_letters)
    delivery = service.delivery.status()
    metrics.listeners.set(delivery["listeners"])
    metrics.delivered.set(delivery["delivered"])
    metrics.handed_out.set(delivery["handed_out"])
    metrics.delivery_failures.set(delivery["failed"])
    metrics.breakers_open.set(delivery["breakers_open"])
    for name, fared in pipeline.operators.items():
        metrics.operator(name, fared)
