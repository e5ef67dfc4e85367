"""A spool as a DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_EVENTS: Final = 200_000


def read_spool(
    session: SparkSession,
    path: str | Path,
    *,
    stream: bool = True,
    start: int | None = None,
    most_events: int = MOST_EVENTS,
) -> DataFrame:
    """The events of a spool: `offset`, `partition` (0), `id`, `time` (received) and `body` (JSON text).

    Those there now, or a stream of them, of which a micro-batch takes `most_events`. From event `start` on, or all
    that are kept; a stream resumed from its checkpoint goes on from there. `key=["id"]` tells events apart.

    Workers read the folder themselves: it must be at the same path everywhere. Few events are one task, many as many
    as Spark does at a time.
    """
    from tamis.pipeline.spool_source import SpoolSource

    session.dataSource.register(SpoolSource)
    options = {
        "path": str(Path(path).resolve()),
        "mostEvents": str(most_events),
        "tasks": str(session.sparkContext.defaultParallelism),
        **({} if start is None else {"start": str(start)}),
    }
    reader = session.readStream if stream else session.read
    return reader.format(SpoolSource.name()).options(**options).load()
