"""Selections of events with a bulky payload, run as joins (App. I)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.joins.ranges import Integers, Ranges, Shape
from tamis.joins.schemes.scheme import Scheme
from tamis.joins.tables import NO_ROW, Changes

READINGS, PAYLOADS = 0, 1


def payload_shape(width: int) -> Shape:
    """Readings with so many selection attributes, and payloads, joined by what both are about."""
    return Shape((width, 1), ((READINGS, PAYLOADS),))


def payload_ranges(low: npt.ArrayLike, high: npt.ArrayLike) -> Ranges:
    """Selections of readings; payloads have no condition."""
    low, high = np.atleast_2d(np.asarray(low, np.float64)), np.atleast_2d(np.asarray(high, np.float64))
    free = np.full((len(low), 1), np.inf)
    shape = payload_shape(low.shape[1])
    nothing = np.zeros((len(low), 2)), np.zeros(len(low))
    return Ranges.of(shape, np.hstack((low, -free)), np.hstack((high, free)), *nothing)


class PayloadSplit:
    """Events about things, each a reading and a payload, as changes of two tables.

    A thing's payload goes out to a subscription when its reading comes into the range, and not again while it stays
    there: semijoins see to that. A payload is told from another by its code (a hash of its content, say). The schemes'
    messages name rows of `READINGS` and of `PAYLOADS`; the bulky part is sent with the latter only.
    """

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self._reading: dict[int, int] = {}
        self._payload: dict[int, tuple[int, int]] = {}  # row and code

    def changes(self, things: Integers, readings: npt.ArrayLike, payloads: Integers) -> Changes:
        """For events in order: things by code, the readings' attributes, codes of payloads."""
        rows = self._scheme.state.rows
        coming = rows[READINGS].put(readings, things)
        steps: list[tuple[int, int, int]] = []
        for thing, row, code in zip(things.tolist(), coming.tolist(), payloads.tolist(), strict=True):
            before, known = self._payload.get(thing, (NO_ROW, None))
            # Another payload comes after the reading, and the old one goes before: whoever the reading leaves does not
            # get the new one, and whoever it enters does not get the old one.
            if known not in (None, code):
                steps.append((PAYLOADS, before, NO_ROW))
            steps.append((READINGS, self._reading.get(thing, NO_ROW), row))
            self._reading[thing] = row
            if known != code:
                fresh = int(rows[PAYLOADS].put([0.0], [thing])[0])
                steps.append((PAYLOADS, NO_ROW, fresh))
                self._payload[thing] = fresh, code
        table, old, new = zip(*steps, strict=True) if steps else ((), (), ())
        return Changes.of(table, old, new)
