"""Sources of events: files, folders that fill up, and event logs. Any other DataFrame will do as well."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from tamis.errors import PipelineError
from tamis.eventlog import EventLog
from tamis.eventlog.spool.reader import SpoolReader
from tamis.eventlog.spool.segments import SpoolError
from tamis.eventlog.spool.spool_log import SpoolLog
from tamis.pipeline.frames import places, plainly
from tamis.pipeline.match import EVENT_KEY, NOTIFICATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tamis.eventlog.kafka.kafka_log import KafkaLog


# Kafka at both ends: topics to read events from, topics to write matches to.

KAFKA_KEY: Final = ("kafka_topic", "kafka_partition", "kafka_offset")

_COORDINATES = ("topic", "partition", "offset", "timestamp", "key")


def read_kafka(session: SparkSession, servers: str, topic: str, *, stream: bool = True, **options: Any) -> DataFrame:
    """A topic's messages: JSON texts in the column `value`, their bytes not looked into yet, and `kafka_topic`,
    `kafka_partition`, `kafka_offset`, `kafka_timestamp` and `kafka_key` beside them.

    The first three name a message for good: `stream(..., key=KAFKA_KEY)`. The session must have the connector:
    `session(kafka=True)`. `options` go to Spark's reader, such as `startingOffsets="earliest"`.
    """
    reader = session.readStream if stream else session.read
    settings = {"kafka.bootstrap.servers": servers, "subscribe": topic, **options}
    with _connector():
        messages = reader.format("kafka").options(**settings).load()
    return messages.selectExpr("CAST(value AS STRING) value", *(f"{name} AS kafka_{name}" for name in _COORDINATES))


def to_kafka(servers: str, topic: str, **options: Any) -> Callable[[DataFrame, int], None]:
    """A sink that writes every row as a JSON message, under its notification (or else its event's key) as message key.

    Kafka may get a message twice when a batch is run again; both have the same key.
    """

    def write(rows: DataFrame, batch: int) -> None:
        from pyspark.sql import functions

        members = zip(places(rows, rows.columns), rows.columns, strict=True)
        message = functions.to_json(functions.struct(*(functions.col(place).alias(name) for place, name in members)))
        (key,) = places(rows, [NOTIFICATION if NOTIFICATION in rows.columns else EVENT_KEY])
        settings = {"kafka.bootstrap.servers": servers, "topic": topic, **options}
        with _connector():
            plainly(rows).select(functions.col(key).alias("key"), message.alias("value")).write.format("kafka").options(
                **settings
            ).save()

    return write


@contextmanager
def _connector() -> Iterator[None]:
    """Says in one line that the connector is missing."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        if "kafka" not in str(error).lower() or "find" not in str(error).lower():
            raise
        raise PipelineError(
            "this Spark session has no Kafka connector: start it with pipeline.session(kafka=True)"
        ) from error


MOST_EVENTS: Final = 200_000

_EARLIEST: Final = -2  # Spark's word for it


def read_json_lines(session: SparkSession, path: str | Path, *, stream: bool = False, **options: Any) -> DataFrame:
    """JSON lines as they are, in the column `value`: a malformed line must come through, to become a dead letter.

    Blank lines are no events. `stream` takes files as they appear in the folder; `options` go to Spark's reader.
    """
    reader = session.readStream if stream else session.read
    return reader.options(**options).text(str(path)).where("trim(value) != ''")


def read_parquet(session: SparkSession, path: str | Path, *, stream: bool = False, **options: Any) -> DataFrame:
    """Parquet files, a column an attribute. A stream has the columns of the files that are there when it starts."""
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
    """The events of a spool: `offset`, `partition` (0), `id`, `time` (received) and `body` (JSON text).

    Those there now, or a stream of them, of which a micro-batch takes `most_events`. From event `start` on, or all
    that are kept; a stream resumed from its checkpoint goes on from there. `key=["id"]` tells events apart.

    Workers read the folder themselves: it must be at the same path everywhere. Few events are one task, many as many
    as Spark does at a time.
    """

    session.dataSource.register(SpoolSource)
    options = {
        "path": str(Path(path).resolve()),
        "mostEvents": str(most_events),
        "tasks": str(session.sparkContext.defaultParallelism),
        **({} if start is None else {"start": str(start)}),
    }
    reader = session.readStream if stream else session.read
    return reader.format(SpoolSource.name()).options(**options).load()


def read_log(session: SparkSession, log: EventLog, *, stream: bool = True, start: int | str | None = None) -> DataFrame:
    """The records of an event log, with the columns of `RECORDS`: those there now, or a stream of them.

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


# The spool as a data source of Spark. Planned on the driver's side, read in the workers, where the files are.

# Starting a task costs as much as reading and matching so many events.
SMALL: Final = 10_000
# A task holds a batch at a time, not all of its events; but if it fails, so many are read again.
LARGE: Final = 200_000


class SpoolSource(DataSource):
    """`path`: the folder; `mostEvents`: of a micro-batch; `tasks`: at a time; `start`: the first event."""

    @classmethod
    def name(cls) -> str:
        return "tamis_spool"

    def schema(self) -> str:
        return "offset long, partition int, id string, time timestamp, body string"

    def reader(self, schema: Any) -> SpoolBatch:
        return SpoolBatch(Settings.of(self.options))

    def streamReader(self, schema: Any) -> SpoolStream:  # noqa: N802 - Spark's name
        return SpoolStream(Settings.of(self.options))


@dataclass(frozen=True, slots=True)
class Settings:
    """The source's options."""

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

    def cut(self, start: int, end: int) -> list[InputPartition]:
        """The range, cut into even parts: one if it is small, as many as run at a time if not, more if it is huge."""
        parts = max(1, min(self.tasks, (end - start) // SMALL), -(-(end - start) // LARGE))
        edges = [start + (end - start) * part // parts for part in range(parts + 1)]
        return [InputPartition(edge) for edge in pairwise(edges) if edge[0] < edge[1]]


class SpoolBatch(DataSourceReader):
    """Events that are there when the query is planned."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def partitions(self) -> list[InputPartition]:
        first, end = SpoolReader(self._settings.path).bounds()
        return self._settings.cut(min(max(first, self._settings.start or 0), end), end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return SpoolReader(self._settings.path).read(*partition.value)


class SpoolStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Whatever is durable, as it comes. An offset of Spark's is the number of the next event, and the spool's id:

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
        return self._settings.cut(int(start["event"]), int(end["event"]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return SpoolReader(self._settings.path).read(*partition.value)

    def _end(self) -> int:
        mark = self._spool.mark()
        return mark.end if mark is not None else 0

    def _id(self) -> str:
        mark = self._spool.mark()
        return mark.spool.hex() if mark is not None else ""
