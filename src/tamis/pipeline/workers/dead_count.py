"""How many rows of each partition are dead: told by the workers beside their answers, so that no job need ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamis.pipeline.workers.task import partition

if TYPE_CHECKING:
    from pyspark import Accumulator, SparkContext
    from pyspark.sql import DataFrame


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
