"""Subscriptions of which the index holds only a part: what it lets through is looked at once more."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.dialects.cloudevents_filters import CloudEventsFilters
from tamis.service.event_body import published_event
from tamis.service.store import Store

Numbers = npt.NDArray[np.int64]


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

    def hold(self, bodies: pa.Array, rows: Numbers, subscriptions: Numbers) -> npt.NDArray[np.bool_] | None:
        """Which pairs of an event, by its row, and a subscription are matches; None if all are."""
        filters = self._of(np.unique(subscriptions).tolist())
        if not filters:
            return None
        kept = np.ones(len(rows), np.bool_)
        contexts: dict[int, Any] = {}
        for pair in np.flatnonzero(np.isin(subscriptions, list(filters))).tolist():
            row = int(rows[pair])
            if row not in contexts:
                contexts[row] = published_event(bodies[row].as_py()).get("ce")
            context = contexts[row]
            kept[pair] = isinstance(context, dict) and filters[int(subscriptions[pair])].holds(context)
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
