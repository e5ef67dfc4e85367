"""Events that wait until no earlier one is expected any more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.schema.timestamps import to_datetime


@dataclass(frozen=True, slots=True)
class Lateness:
    """Allowance for late events: by which attribute, a timestamp, and by how many microseconds.

    The watermark is so much before the greatest time that was seen in any cell. With `at_once` nothing more comes, so
    that nothing waits.
    """

    by: str
    delay: int
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Admitted:
    """Events to be handled now, by time and then in the order of coming; and those too late, after `watermark`."""

    due: pa.Table
    late: pa.Table
    watermark: int | None


class WaitingRoom:
    """Events that came, and whose time the watermark has not reached.

    An event without a time (a delete may have none) counts as of the greatest time there was when it came.
    """

    def __init__(self, lateness: Lateness) -> None:
        self._lateness = lateness
        self.clock: int | None = None
        self.waiting: pa.Table | None = None
        self._times: Int64s = np.zeros(0, np.int64)

    def admit(self, events: pa.Table | None, clock: int | None) -> Admitted:
        """Takes the events of a batch in, in order. `clock` is the greatest time in the batch, in all cells."""
        before = self._watermark()
        if clock is not None:
            self.clock = clock if self.clock is None else max(self.clock, clock)
        watermark = self._watermark()
        turned_away = pa.table({})
        if events is not None:
            times = self._counted(events)
            late = np.zeros(len(times), np.bool_) if before is None else times < before
            turned_away = events.filter(pa.array(late))
            self._times = np.concatenate([self._times, times[~late]])
            rest = events.filter(pa.array(~late))
            self.waiting = (
                rest if self.waiting is None else pa.concat_tables([self.waiting, rest], promote_options="default")
            )
        if self.waiting is None:
            return Admitted(pa.table({}), turned_away, before)
        order = np.argsort(self._times, kind="stable")
        ready = self._times[order] <= (np.iinfo(np.int64).max if self._lateness.at_once else _least(watermark))
        due = self.waiting.take(pa.array(order[ready]))
        left = np.sort(order[~ready])
        self.waiting, self._times = self.waiting.take(pa.array(left)), self._times[left]
        return Admitted(due, turned_away, before)

    def restore(self, waiting: pa.Table | None, times: list[int], clock: int | None) -> None:
        self.waiting, self._times, self.clock = waiting, np.array(times, np.int64), clock

    @property
    def waiting_times(self) -> list[int]:
        times: list[int] = self._times.tolist()
        return times

    def _counted(self, events: pa.Table) -> Int64s:
        now = self.clock if self.clock is not None else 0
        found = times_of(events, self._lateness.by)
        return np.full(events.num_rows, now, np.int64) if found is None else np.asarray(found.fill_null(now))

    def _watermark(self) -> int | None:
        return None if self.clock is None else self.clock - self._lateness.delay


def times_of(events: pa.Table | pa.RecordBatch, by: str) -> pa.ChunkedArray | pa.Array | None:
    """Microseconds, null where the attribute is absent; None where there is no such column."""
    if by not in events.schema.names:
        return None
    column = events[by] if isinstance(events, pa.Table) else events.column(by)
    return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())


def said(microseconds: int | None) -> str:
    """A time as people read it."""
    moment = "" if microseconds is None else to_datetime(microseconds)
    return moment.isoformat() if isinstance(moment, datetime) else str(moment)


def _least(watermark: int | None) -> int:
    return int(np.iinfo(np.int64).min) if watermark is None else watermark
