"""Queries over streams as all of ours are: a function is run on every micro-batch, from a checkpoint on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    Sink = Callable[[DataFrame, int], object]


def require_stream(events: DataFrame, otherwise: str) -> None:
    """Refuses events that are all there already; `otherwise` is what takes them."""
    if not events.isStreaming:
        raise PipelineError(f"these events are no stream: use {otherwise}, or read them with stream=True")


def started(
    frame: DataFrame,
    run: Callable[[DataFrame, int], None],
    checkpoint: str | Path,
    *,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> StreamingQuery:
    """Runs on every micro-batch and its number, resumed from `checkpoint`. `trigger` and `name` are Spark's own."""
    writer = frame.writeStream.foreachBatch(run).option("checkpointLocation", str(checkpoint))
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.start()
