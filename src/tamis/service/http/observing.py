"""Gauges and totals that are read when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tamis.service.store import State, Store
from tamis.service.worker import Batch

if TYPE_CHECKING:
    from tamis.service.http.service import Service

_STATES: Final[tuple[State, ...]] = ("active", "paused", "suspended", "expired", "cancelled")


def matched_ends(batch: Batch) -> dict[int, int]:
    """The log's number after the last event that is matched, by partition; empty while that cannot be told.

    `processed` is where the batch began: only what is before it could not come again after a crash.
    """
    if batch.ends is not None:
        return {int(partition): end for partition, end in batch.ends.items()}
    return {} if batch.processed < 0 else {0: batch.processed + batch.events}


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of the store: subscriptions in each state, dead letters, and the newest revision of subscriptions."""

    subscriptions: dict[str, int]
    dead_letters: int
    revision: int


def counted(store: Store) -> Counts:
    """Asks the store, so not in the event loop."""
    return Counts(
        {state: store.subscriptions.count(None, state) for state in _STATES},
        store.dead_letters.count(),
        store.subscriptions.revision,
    )


def lag(service: Service) -> int | None:
    """Events on the log that are not matched yet; None while that cannot be told.

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
    """Sets what is counted elsewhere; without `counts`, what the store has is not there."""
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
