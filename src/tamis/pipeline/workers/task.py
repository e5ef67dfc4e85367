"""What a task of Spark knows of its place."""

from __future__ import annotations


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
