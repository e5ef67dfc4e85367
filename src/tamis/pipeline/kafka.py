"""Kafka source and sink: topics to read events from, topics to write matches to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tamis.errors import PipelineError
from tamis.pipeline.frames import places, plainly
from tamis.pipeline.match import EVENT_KEY, NOTIFICATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KAFKA_KEY: Final = ("kafka_topic", "kafka_partition", "kafka_offset")

_COORDINATES = ("topic", "partition", "offset", "timestamp", "key")


def read_kafka(session: SparkSession, servers: str, topic: str, *, stream: bool = True, **options: Any) -> DataFrame:
    """Reads a topic's messages: JSON texts in the column `value`, not parsed yet, and `kafka_topic`, `kafka_partition`,
    `kafka_offset`, `kafka_timestamp` and `kafka_key` beside them.

    The first three name a message for good: `stream(..., key=KAFKA_KEY)`. The session must have the connector:
    `session(kafka=True)`. `options` go to Spark's reader, such as `startingOffsets="earliest"`.
    """
    reader = session.readStream if stream else session.read
    settings = {"kafka.bootstrap.servers": servers, "subscribe": topic, **options}
    with _connector():
        messages = reader.format("kafka").options(**settings).load()
    return messages.selectExpr("CAST(value AS STRING) value", *(f"{name} AS kafka_{name}" for name in _COORDINATES))


def to_kafka(servers: str, topic: str, **options: Any) -> Callable[[DataFrame, int], None]:
    """Sink that writes every row as a JSON message, keyed by its notification (or else its event's key).

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
    """Raises an error in one line if the connector is missing."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        if "kafka" not in str(error).lower() or "find" not in str(error).lower():
            raise
        raise PipelineError(
            "this Spark session has no Kafka connector: start it with pipeline.session(kafka=True)"
        ) from error
