"""The indexes that this worker process has open. Spark keeps workers alive between tasks, and so the indexes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.engine import Index
from tamis.operators.health import Health
from tamis.pipeline.calling.ledger import Crew, read_learned, stamp
from tamis.pipeline.table.subscriptions import Part
from tamis.pipeline.table.versions import apply_change

if TYPE_CHECKING:
    from pyspark import Accumulator, SparkContext
    from pyspark.sql import DataFrame


# The newest version and the one before it: a replay may run beside a first run.
_KEPT = 2

_Key = tuple[Part, tuple[str, ...] | None]


@dataclass(slots=True)
class _Open:
    """An index, and which state of the file of what was learned it has taken over."""

    index: Index
    learned: tuple[int, int] | None = None


_OPEN: OrderedDict[_Key, _Open] = OrderedDict()
# An operator that hangs does so under every version: what is known of that outlives the indexes.
_HEALTH: dict[tuple[str, ...], Health] = {}


def opened(part: Part, crew: Crew | None = None, alone: bool = False) -> Index:
    """The part's index, mapped into memory. `alone` closes all others first: for shards, which fit only one by one.

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


# What a task of Spark knows of its place.


def partition() -> int | None:
    """The number of the partition that this task computes; None outside of tasks."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else context.partitionId()


def micro_batch() -> tuple[str, int] | None:
    """The query and the number of the micro-batch that this task belongs to; None outside of streams."""
    from pyspark import TaskContext

    context = TaskContext.get()
    stream = context and context.getLocalProperty("sql.streaming.queryId")
    batch = context and context.getLocalProperty("streaming.sql.batchId")
    return (stream, int(batch)) if stream and batch else None


# How many rows of each partition are dead: told by the workers beside their answers, so that no job need ask.


class DeadCount:
    """Counts by partition, which stay right when Spark runs a partition twice.

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
        """In a worker: its partition is done, and has so many dead rows."""
        number = partition()
        if number is not None:
            self._counts.add({number: dead})

    def any(self, answer: DataFrame) -> bool | None:
        """On the driver: whether rows of the answer are dead, or None if none is known and not all were computed."""
        counts = self._counts.value
        if any(counts.values()):
            return True
        return False if len(counts) == answer.rdd.getNumPartitions() else None
