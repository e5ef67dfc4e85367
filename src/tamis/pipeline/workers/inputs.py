"""Inputs of a Spark worker: cached open indexes, task identity, event parsing and validation, and batch pacing.

Spark keeps workers alive between tasks, and so the indexes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engine import Index
from tamis.operators.health import Health
from tamis.pipeline.table.calling import Crew, read_learned, stamp
from tamis.pipeline.table.subscriptions import Part
from tamis.pipeline.table.versions import apply_change
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark import Accumulator, SparkContext
    from pyspark.sql import DataFrame


# Cached versions: the newest and the one before it, since a replay may run beside a first run.
_KEPT = 2

_Key = tuple[Part, tuple[str, ...] | None]


@dataclass(slots=True)
class _Open:
    """Open index, and the stamp of the observations file that it has loaded."""

    index: Index
    learned: tuple[int, int] | None = None


_OPEN: OrderedDict[_Key, _Open] = OrderedDict()
# Health of operators outlives the indexes: an operator that hangs does so under every version.
_HEALTH: dict[tuple[str, ...], Health] = {}


def opened(part: Part, crew: Crew | None = None, alone: bool = False) -> Index:
    """Index of a part, mapped into memory. `alone` closes all others first: for shards, which fit only one by one.

    An open older state of the same base is brought up to date, so a change costs what it changes. An index that calls
    operators takes over what was learned elsewhere, whenever there is more of that.
    """
    key = (part, None if crew is None else crew.identity)
    state = _OPEN.pop(key, None)
    if alone:
        _OPEN.clear()
    if state is None:
        older = _older(key)
        if older is None:
            state, applied = _Open(_new(part, crew)), 0
        else:
            state, applied = _OPEN.pop(older), len(older[0].changes)
        for change in part.changes[applied:]:
            apply_change(state.index, change)
    if crew is not None:
        _learn(state, crew)
    _OPEN[key] = state
    while len(_OPEN) > _KEPT:
        _OPEN.popitem(last=False)
    return state.index


def _new(part: Part, crew: Crew | None) -> Index:
    # The driver verified the checksums when it took the snapshot.
    if crew is None:
        return Index.open(part.base, verify=False)
    index = Index.open(part.base, verify=False, operators=crew.unpacked())
    if index.calling is not None:
        index.calling.adopt(_HEALTH.setdefault(crew.identity, Health()))
    return index


def _learn(state: _Open, crew: Crew) -> None:
    newest = stamp(crew.learned)
    if newest is not None and newest != state.learned and state.index.calling is not None:
        state.learned = newest
        state.index.calling.start_from(read_learned(Path(crew.learned)))


def _older(key: _Key) -> _Key | None:
    part, identity = key
    states = [
        other
        for other in _OPEN
        if other[0].base == part.base
        and other[0].changes == part.changes[: len(other[0].changes)]
        and other[1] == identity
        and other != key
    ]
    return max(states, key=lambda other: len(other[0].changes), default=None)


# Identity of the running Spark task.


def partition() -> int | None:
    """Number of the partition that this task computes; None outside of tasks."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else context.partitionId()


def micro_batch() -> tuple[str, int] | None:
    """Query and number of the micro-batch of this task; None outside of streams."""
    from pyspark import TaskContext

    context = TaskContext.get()
    stream = context and context.getLocalProperty("sql.streaming.queryId")
    batch = context and context.getLocalProperty("streaming.sql.batchId")
    return (stream, int(batch)) if stream and batch else None


# Number of dead rows in each partition, sent by the workers beside their answers, so that no extra job is needed.


class DeadCount:
    """Counts of dead rows by partition, which stay right when Spark runs a partition twice.

    Only partitions that were run to their end are in it: a sink may have looked at some rows only.
    """

    def __init__(self, context: SparkContext) -> None:
        from pyspark.accumulators import AccumulatorParam

        class ByPartition(AccumulatorParam[dict[int, int]]):
            def zero(self, value: dict[int, int]) -> dict[int, int]:
                return {}

            def addInPlace(self, value1: dict[int, int], value2: dict[int, int]) -> dict[int, int]:  # noqa: N802
                return {**value1, **value2}

        self._counts: Accumulator[Any] = context.accumulator({}, ByPartition())

    def tell(self, dead: int) -> None:
        """Reports that this partition is done, and its number of dead rows. Called in a worker."""
        number = partition()
        if number is not None:
            self._counts.add({number: dead})

    def any(self, answer: DataFrame) -> bool | None:
        """True if rows of the answer are dead; None if none is known and not all were computed. For the driver."""
        counts = self._counts.value
        if any(counts.values()):
            return True
        return False if len(counts) == answer.rdd.getNumPartitions() else None


# Reading of events from Spark's rows: as they are, or checked, or parsed and checked.

VIOLATION = pa.struct(
    [pa.field(name, pa.string()) for name in ("attribute", "rule", "value", "message")],
)


@dataclass(frozen=True, slots=True)
class Read:
    """Events of a batch: event i is row `rows[i]`, ascending. Every other row is dead, and `violations` has the reasons
    (a list a row, null for rows that are events); without a check it is None and all rows are events.
    """

    events: pa.RecordBatch
    rows: npt.NDArray[np.int64]
    violations: pa.ListArray | None

    @property
    def dead(self) -> npt.NDArray[np.int64]:
        """The other rows."""
        if self.violations is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(np.asarray(self.violations.is_valid()))


@dataclass(frozen=True, slots=True)
class Reader:
    """Reader of events from Spark's rows. `places` are the columns that hold attributes, `names` their names; with
    `json` there is one, of JSON texts.
    """

    schema: Schema
    places: tuple[int, ...]
    names: tuple[str, ...]
    check: bool
    json: bool = False
    ignore_unknown: bool = False
    judged: bool = False

    def read(self, batch: pa.RecordBatch) -> Read:
        if self.json:
            texts = batch.column(self.places[0])
            checked = self.schema.check_json(texts, ignore_unknown=self.ignore_unknown, judged=self.judged)
        else:
            events = pa.RecordBatch.from_arrays([batch.column(place) for place in self.places], list(self.names))
            if not self.check:
                return Read(events, np.arange(batch.num_rows), None)
            # Columns that are no attributes are not among those read; what a struct holds besides is passed over.
            checked = self.schema.check(events, ignore_unknown=True)
        return Read(checked.valid, np.asarray(checked.valid_rows), _by_row(checked.violations, batch.num_rows))


def canonical(schema: Schema, events: pa.RecordBatch) -> list[pa.Array]:
    """Column for every attribute of the schema: attributes that no event has come as nulls."""
    return [
        events.column(field.name) if field.name in events.schema.names else pa.nulls(events.num_rows, field.type)
        for field in schema.arrow_schema
    ]


def in_rows(columns: Sequence[pa.Array], rows: npt.NDArray[np.int64], count: int) -> list[pa.Array]:
    """Columns scattered into `count` rows: value i into row `rows[i]`, null into the others."""
    if len(rows) == count:
        return list(columns)
    places = np.full(count, -1, np.int64)
    places[rows] = np.arange(len(rows))
    indices = pa.array(places, mask=places < 0)
    return [column.take(indices) for column in columns]


def _by_row(violations: pa.Table, count: int) -> pa.ListArray:
    counts = np.bincount(np.asarray(violations["event"], np.int64), minlength=count)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(np.int32)
    order = pa.array(np.argsort(np.asarray(violations["event"]), kind="stable"))
    fields = [violations[field.name].take(order).combine_chunks() for field in VIOLATION]
    values = pa.StructArray.from_arrays(fields, fields=list(VIOLATION))
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(counts == 0))


# Batch sizes: events to match at a time, so that the matches fit into memory.

_FIRST = 1_000
_LEAST = 16


class Pace:
    """Batch pacing: learns the number of matches per event, and takes as many events as have about `matches`."""

    def __init__(self, matches: int) -> None:
        self._aim = matches
        self._rows = _FIRST

    def saw(self, events: int, matches: int) -> None:
        """Records the number of matches of some events."""
        if events:
            # At most fourfold at a time: the next events may match more.
            self._rows = max(_LEAST, min(4 * self._rows, self._aim * events // max(1, matches)))

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Slices of a batch, each as long as seems right when it is asked for."""
        at = 0
        while at < batch.num_rows:
            piece = batch.slice(at, self._rows)
            at += piece.num_rows
            yield piece

    def rounds(self, batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
        """Rounds of slices, put together until there are enough events for a round."""
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            for piece in self.pieces(batch):
                waiting.append(piece)
                if sum(piece.num_rows for piece in waiting) >= self._rows:
                    yield waiting
                    waiting = []
        if waiting:
            yield waiting
