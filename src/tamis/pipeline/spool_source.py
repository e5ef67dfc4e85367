"""Spark data source of a spool: a stream, and ranges as a batch. Planned on the driver's side, read in the workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from tamis.eventlog.spool.reader import SpoolReader
from tamis.eventlog.spool.segments import SpoolError

# Smallest task: starting a task costs as much as reading and matching this many events.
SMALL: Final = 10_000
# Largest task: a task holds a batch at a time, but if it fails, all its events are read again.
LARGE: Final = 200_000


COLUMNS: Final = "offset long, partition int, id string, time timestamp, body string"


class SpoolSource(DataSource):
    """Data source of Spark; `path`: the folder; `mostEvents`: of a micro-batch; `tasks`: at a time; `start`: the first
    event.
    """

    @classmethod
    def name(cls) -> str:
        return "tamis_spool"

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: Any) -> SpoolStream:  # noqa: N802 - Spark's name
        return SpoolStream(Settings.of(self.options))


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of the source."""

    path: str
    most: int
    tasks: int
    start: int | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Settings:
        start = options.get("start")
        return cls(
            options["path"], int(options["mostEvents"]), int(options["tasks"]), None if start is None else int(start)
        )

    def cut(self, start: int, end: int) -> list[tuple[int, int]]:
        """Range, cut into even parts: one if it is small, one per concurrent task if not, more if it is huge."""
        parts = max(1, min(self.tasks, (end - start) // SMALL), -(-(end - start) // LARGE))
        edges = [start + (end - start) * part // parts for part in range(parts + 1)]
        return [edge for edge in pairwise(edges) if edge[0] < edge[1]]


@dataclass(frozen=True, slots=True)
class SpoolBatch:
    """Ranges of a spool, one a task; `read` runs in the workers that match, which need no process to plan them.

    Spark plans a Python source in a process of its own for each query, which loads half of Tamis first.
    """

    path: str
    ranges: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, settings: Settings) -> SpoolBatch:
        """Ranges of the events that are there now."""
        first, end = SpoolReader(settings.path).bounds()
        return cls(settings.path, settings.cut(min(max(first, settings.start or 0), end), end))

    def read(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Events of the ranges that a task is given by number."""
        for batch in numbers:
            for number in batch[0].to_pylist():
                yield from SpoolReader(self.path).read(*self.ranges[number])


class SpoolStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Stream reader: durable events, as they come. An offset is the number of the next event, and the spool's id: with
    it a checkpoint is not taken for one of another spool, in which the numbers mean other events.

    with it a checkpoint is not taken for one of another spool, in which the numbers mean other events.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._spool = SpoolReader(settings.path)
        self._target: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        first, end = self._spool.bounds()
        start = first if self._settings.start is None else min(max(first, self._settings.start), end)
        return {"event": start, "spool": self._id()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadMaxRows(self._settings.most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        known, spool = start["spool"], self._id()
        if known and known != spool:
            raise SpoolError(
                f"the checkpoint was made over another spool than {self._settings.path}: its numbers are of other "
                "events; bring that spool back, or begin with a new checkpoint"
            )
        event = int(start["event"])
        end = self._end() if self._target is None else self._target
        if isinstance(limit, ReadMaxRows):
            end = min(end, event + limit.max_rows)
        return {"event": max(end, event), "spool": spool}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._target = self._end()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return {"event": self._end(), "spool": self._id()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        if start["event"] == end["event"]:
            return []
        return [InputPartition(edge) for edge in self._settings.cut(int(start["event"]), int(end["event"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return SpoolReader(self._settings.path).read(*partition.value)

    def _end(self) -> int:
        mark = self._spool.mark()
        return mark.end if mark is not None else 0

    def _id(self) -> str:
        mark = self._spool.mark()
        return mark.spool.hex() if mark is not None else ""
