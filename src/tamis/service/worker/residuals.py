"""Subscriptions of which the index holds only a part: what it lets through is looked at once more."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.dialects.cloudevents_filters import CloudEventsFilters
from tamis.service.base.event_body import published_event
from tamis.service.store import Store
from tamis.service.worker.suspending import Fairness

_LARGE: Final = 4_096  # bytes of an event from which on a look at it is worth timing
_TICK: Final = 0.2  # seconds untold


class Residuals:
    """The residual filters of subscriptions, read from the store when a subscription first matches.

    `_known` has the subscriptions that have matched since they last changed: their filter, or None if it leaves
    nothing over. Any thread may call.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, CloudEventsFilters | None] = {}
        self._lock = threading.Lock()

    def forget(self, numbers: Iterable[int]) -> None:
        """These have changed."""
        with self._lock:
            for number in numbers:
                self._known.pop(number, None)

    def hold(
        self, bodies: pa.Array, rows: Int64s, subscriptions: Int64s, fairness: Fairness | None = None
    ) -> npt.NDArray[np.bool_] | None:
        """Mask of the pairs of an event, by its row, and a subscription that are matches; None if all are.

        What a look at a large event takes is charged, and whoever is suspended meanwhile is not looked at any more.
        """
        filters = self._of(np.unique(subscriptions).tolist())
        if not filters:
            return None
        kept = np.ones(len(rows), np.bool_)
        contexts: dict[int, Any] = {}
        untold: dict[int, float] = {}
        left_out: frozenset[int] = frozenset()
        for pair in np.flatnonzero(np.isin(subscriptions, list(filters))).tolist():
            row = int(rows[pair])
            if row not in contexts:
                contexts[row] = published_event(bodies[row].as_py()).get("ce")
            context, number = contexts[row], int(subscriptions[pair])
            if fairness is None or len(bodies[row].as_buffer()) < _LARGE:
                kept[pair] = isinstance(context, dict) and filters[number].holds(context)
                continue
            if number in left_out:
                kept[pair] = False
                continue
            began = time.thread_time()
            kept[pair] = isinstance(context, dict) and filters[number].holds(context)
            untold[number] = untold.get(number, 0.0) + time.thread_time() - began
            if sum(untold.values()) > _TICK:
                left_out = fairness.charge(untold)
                untold = {}
        if fairness is not None and untold:
            fairness.charge(untold)
        return kept

    def _of(self, numbers: Sequence[int]) -> dict[int, CloudEventsFilters]:
        """The filters of those that have one."""
        with self._lock:
            known = self._known
            unknown = [number for number in numbers if number not in known]
            if unknown:
                found = self._store.subscriptions.by_number(unknown)
                for number in unknown:
                    text = found[number].residual if number in found else None
                    known[number] = None if text is None else CloudEventsFilters.from_json(text)
            return {number: filter for number in numbers if (filter := known[number]) is not None}
