"""Gauges and totals that are read when somebody asks."""

from __future__ import annotations

from tamis.service.api.service import Service
from tamis.service.matching import Batch


def matched_ends(batch: Batch) -> dict[int, int]:
    """The log's number after the last event that is matched, by partition; empty while that cannot be told.

    `processed` is where the batch began: only what is before it could not come again after a crash.
    """
    if batch.ends is not None:
        return {int(partition): end for partition, end in batch.ends.items()}
    return {} if batch.processed < 0 else {0: batch.processed + batch.events}


def lag(service: Service) -> int | None:
    """Events on the log that are not matched yet; None while that cannot be told."""
    last = service.supervisor.status().last
    ends = {} if last is None else matched_ends(last)
    if last is None or not ends:
        return None
    unmatched = service.meter.unmatched(ends)
    if unmatched is None:
        return last.lag_events if last.lag_events >= 0 else None
    return unmatched


def observe(service: Service) -> None:
    """Sets what is counted elsewhere. Asks the store, so not in the event loop."""
    metrics, pipeline = service.metrics, service.supervisor.status()
    metrics.pipeline_up.set(pipeline.state == "running")
    metrics.pipeline_restarts.set(pipeline.restarts)
    metrics.batch_busy.set(pipeline.busy)
    metrics.lag.set(lag(service) or 0)
    metrics.subscriptions.set(service.store.subscriptions.count(None, "active"))
    metrics.dead_letters.set(service.store.dead_letters.count())
    delivery = service.delivery.status()
    metrics.listeners.set(delivery["listeners"])
    metrics.delivered.set(delivery["delivered"])
    metrics.handed_out.set(delivery["handed_out"])
    metrics.delivery_failures.set(delivery["failed"])
    metrics.breakers_open.set(delivery["breakers_open"])
    for name, fared in pipeline.operators.items():
        metrics.operator(name, fared)
