"""Event sources on Spark: JSON lines, Parquet, spool folders and event logs. Any other DataFrame will do as well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tamis.eventlog import EventLog
from tamis.eventlog.spool.spool_log import SpoolLog
from tamis.pipeline.kafka import read_kafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tamis.eventlog.kafka.kafka_log import KafkaLog

MOST_EVENTS: Final = 200_000

_EARLIEST: Final = -2  # Spark's word for it


def read_json_lines(session: SparkSession, path: str | Path, *, stream: bool = False, **options: Any) -> DataFrame:
    """Reads JSON lines, unparsed, into the column `value`: a malformed line must come through, to become a dead letter.

    Blank lines are no events. `stream` takes files as they appear in the folder; `options` go to Spark's reader.
    """
    reader = session.readStream if stream else session.read
    return reader.options(**options).text(str(path)).where("trim(value) != ''")


def read_parquet(session: SparkSession, path: str | Path, *, stream: bool = False, **options: Any) -> DataFrame:
    """Reads Parquet files, a column per attribute. A stream has the columns of the files at its start."""
    now = session.read.options(**options).parquet(str(path))
    return session.readStream.options(**options).schema(now.schema).parquet(str(path)) if stream else now


def read_spool(
    session: SparkSession,
    path: str | Path,
    *,
    stream: bool = True,
    start: int | None = None,
    most_events: int = MOST_EVENTS,
) -> DataFrame:
    """Reads the events of a spool: `offset`, `partition` (0), `id`, `time` (received) and `body` (JSON text).

    Those there now, or a stream of them, of which a micro-batch takes `most_events`. From event `start` on, or all
    that are kept; a stream resumed from its checkpoint goes on from there. `key=["id"]` tells events apart.

    Workers read the folder themselves: it must be at the same path everywhere. Few events are one task, many as many
    as Spark does at a time.
    """
    from tamis.pipeline.spool_source import COLUMNS, Settings, SpoolBatch, SpoolSource

    folder, tasks = str(Path(path).resolve()), session.sparkContext.defaultParallelism
    if not stream:
        batch = SpoolBatch.of(Settings(folder, most_events, tasks, start))
        numbers = session.range(0, len(batch.ranges), numPartitions=max(len(batch.ranges), 1))
        return numbers.mapInArrow(batch.read, COLUMNS)
    session.dataSource.register(SpoolSource)
    options = {
        "path": folder,
        "mostEvents": str(most_events),
        "tasks": str(tasks),
        **({} if start is None else {"start": str(start)}),
    }
    return session.readStream.format(SpoolSource.name()).options(**options).load()


def read_log(session: SparkSession, log: EventLog, *, stream: bool = True, start: int | str | None = None) -> DataFrame:
    """Reads the records of an event log, with the columns of `RECORDS`: those there now, or a stream of them.

    From `start` on, or all that are kept. `start` may also be where a micro-batch ended, as Spark's checkpoint has it.
    On Kafka the session needs the connector, and a number as `start` holds for every partition.
    """
    if isinstance(log, SpoolLog):
        number = json.loads(start)["event"] if isinstance(start, str) else start
        return read_spool(session, log.folder, stream=stream, start=number)
    from tamis.eventlog.kafka.kafka_log import KafkaLog

    if not isinstance(log, KafkaLog):
        raise TypeError(f"Spark cannot read a {type(log).__name__}")
    return _read_topic(session, log, stream=stream, start=start)


def _read_topic(session: SparkSession, log: KafkaLog, *, stream: bool, start: int | str | None) -> DataFrame:
    topic = log.address.topic
    options = {"startingOffsets": "earliest", **log.address.spark()}
    if isinstance(start, str):
        # Spark wants to be told of every partition; those that were added since are read from their beginning.
        beginning = {str(partition): _EARLIEST for partition in log.partitions()}
        options["startingOffsets"] = json.dumps({topic: {**beginning, **json.loads(start)[topic]}})
    if stream:
        options["maxOffsetsPerTrigger"] = str(MOST_EVENTS)
    messages = read_kafka(session, log.address.servers, topic, stream=stream, **options)
    named = "concat_ws(' ', 'kafka', kafka_topic, kafka_partition, kafka_offset)"
    records = messages.selectExpr(
        "kafka_offset AS offset",
        "kafka_partition AS partition",
        f"coalesce(CAST(kafka_key AS STRING), {named}) AS id",
        "kafka_timestamp AS time",
        "value AS body",
    )
    return records.where(f"offset >= {start}") if isinstance(start, int) else records
