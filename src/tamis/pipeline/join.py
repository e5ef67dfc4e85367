"""Joins on Spark: changes of join results as a DataFrame or a stream, and current results over tables in files."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tamis.errors import PipelineError
from tamis.language.joins import Signature, bind_joins
from tamis.pipeline.events import with_reason
from tamis.pipeline.frames import REASON, SUBSCRIPTION, VIOLATIONS, attribute_columns, mapped, text_column
from tamis.pipeline.indexes import Subscribed, live, opened_source, snapshot_of
from tamis.pipeline.joining.cell import Unpacker
from tamis.pipeline.joining.cells import Cells
from tamis.pipeline.joining.packing import ORDER, PACK, Lateness, Packer, join_texts
from tamis.pipeline.match import NOTIFICATION
from tamis.pipeline.stream import require_stream, started
from tamis.pipeline.table.subscriptions import Snapshot
from tamis.pipeline.table.versions import Live
from tamis.pipeline.workers.inputs import Reader
from tamis.schema import EVENT_TYPE, OPERATION, Schema
from tamis.schema.tables import read_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructField

    from tamis.pipeline.stream import Sink


PARTS = 4
CHANGED = (SUBSCRIPTION, "change", "row", ORDER, "batch", NOTIFICATION)

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
# Id of a change: a hash of everything that tells it from others.
_NAME = f"substring(sha2(concat_ws('\\0', batch, {ORDER}, {SUBSCRIPTION}, change, row, nth), 256), 1, 32)"


def join(
    events: DataFrame,
    subscriptions: Subscribed,
    *,
    order: str | None = None,
    json: str | None = None,
    ignore_unknown: bool = False,
    dead_letters: bool = False,
    lateness: str | None = None,
    time: str | None = None,
    parts: int = PARTS,
    folder: str | Path | None = None,
) -> DataFrame:
    """Joins events, batch or streaming, into changes of contents: a row a result that came or went.

    Events are changes of tables, as `index.apply` takes them; columns are attributes by name, or with `json` there is
    one of JSON texts. They are applied in the order of the column `order` (whole numbers or timestamps), without one in
    the order of partitions and rows. Events of no table are passed over. The answer has the columns

    - `subscription`, its id; `change`, `added` or `removed`; `row`, the result as JSON;
    - `sequence`, the place in `order` as of which it holds; `batch`, the number of the micro-batch;
    - `notification`, a name that comes out the same however often a batch is run.

    A batch (on a stream, each micro-batch) tells only what it leaves changed. Where `dead_letters` are asked for,
    events that break the schema or that their table refuses are rows too, with `event` (JSON), `violations` and
    `reason`, and no subscription. A subscription that is added to a table of subscriptions while a stream runs is first
    told all that it then has, as added. `parts` is how many cells share the rows, or the subscriptions, of tables; a
    stream keeps those it began with.

    With a `lateness` such as "10 seconds", events are applied by their `time` (an attribute; where windows go by one,
    it is that) and wait until the greatest time seen is so much later. One that comes after its time was done with is a
    dead letter. In a batch, all events are there, and none is late.
    """
    told = answers(
        events, subscriptions, order=order, json=json, ignore_unknown=ignore_unknown, lateness=lateness, time=time,
        parts=parts, folder=folder,
    )  # fmt: skip
    return rows_of(told, dead_letters)


def answers(
    events: DataFrame,
    subscriptions: Subscribed,
    *,
    order: str | None,
    json: str | None,
    ignore_unknown: bool,
    lateness: str | None,
    time: str | None,
    parts: int,
    folder: str | Path | None,
) -> DataFrame:
    """Answers of cells to events, packed: few rows, whose blobs `rows_of` unpacks."""
    _require_state(events.sparkSession)
    from tamis.pipeline.joining.processor import ANSWER, TablesProcessor

    source = (live if events.isStreaming else snapshot_of)(subscriptions, events.sparkSession, folder)
    if not source.schema.tables:
        raise PipelineError("the schema has no tables to join; declare them under `tables`")
    cells = _cells(source, parts)
    late = _lateness(source.schema, lateness, time, at_once=not events.isStreaming)
    reader, columns, place = _reader(events, source, json, ignore_unknown, order)
    packed = mapped(events, columns, Packer(cells, reader, place, None if late is None else late.by).run, _fields(PACK))
    return packed.groupBy("cell").transformWithState(
        statefulProcessor=TablesProcessor(source, cells, late),
        outputStructType=ANSWER,
        outputMode="Append",
        timeMode="None",
    )


def rows_of(answers: DataFrame, dead_letters: bool) -> DataFrame:
    """Unpacks answers into the rows that `join` returns."""
    from pyspark.sql.types import StructType

    unpacker = Unpacker(dead_letters)
    rows = answers.mapInArrow(unpacker.run, StructType(_fields(unpacker.columns)))
    if not dead_letters:
        return rows.selectExpr(*CHANGED[:-1], f"{_NAME} AS {NOTIFICATION}")
    name = f"CASE WHEN {SUBSCRIPTION} IS NOT NULL THEN {_NAME} END AS {NOTIFICATION}"
    return with_reason(rows.selectExpr(*CHANGED[:-1], name, "event", VIOLATIONS))


def _lateness(schema: Schema, delay: str | None, time: str | None, at_once: bool) -> Lateness | None:
    if delay is None:
        return None
    windows = {table.retention.by for table in schema.tables.values()} - {None}
    by = time if time is not None else windows.pop() if len(windows) == 1 else None
    if by is None or by not in schema.attributes or schema.attributes[by].domain.kind != "timestamp":
        raise PipelineError("events may be late by a timestamp only; say which attribute that is, as time='…'")
    return Lateness(by, read_duration(delay, "lateness"), at_once)


def cells_of(subscriptions: Subscribed, events: DataFrame, parts: int, folder: str | Path | None) -> Cells:
    """Cells of a query over these events."""
    return _cells((live if events.isStreaming else snapshot_of)(subscriptions, events.sparkSession, folder), parts)


def _cells(source: Snapshot | Live, parts: int) -> Cells:
    """Cells of joins: for a fixed set those that it needs, for a changing one those that any could need."""
    if not parts >= 1:
        raise PipelineError(f"tables cannot be held in {parts} parts; ask for 1 or more")
    if isinstance(source, Live):
        return Cells.for_schema(source.schema, parts)
    if len(source.parts) != 1:
        raise PipelineError("shards hold filters only; join with an index, a saved one's path, or a table")
    return Cells.for_signatures(_signatures(source), source.schema, parts)


def _signatures(source: Snapshot) -> list[Signature]:
    texts = list(join_texts(source.parts[0]).values())
    found = list(dict.fromkeys(block.template.signature for block in bind_joins(texts, source.schema).blocks))
    if not found:
        raise PipelineError("there is no join among the subscriptions; match filters with pipeline.match")
    return found


def _reader(
    events: DataFrame, source: Snapshot | Live, json: str | None, ignore_unknown: bool, order: str | None
) -> tuple[Reader, Sequence[str], int | None]:
    from pyspark.sql.types import IntegralType, TimestampType

    read = attribute_columns(events, source.schema) if json is None else [text_column(events, json)]
    if order is not None and order not in events.columns:
        raise PipelineError(f"there is no column {order!r} to order events by; there are {', '.join(events.columns)}")
    if order is not None and not isinstance(kind := events.schema[order].dataType, IntegralType | TimestampType):
        raise PipelineError(
            f"events are ordered by whole numbers or timestamps, and the column {order!r} is {kind.simpleString()}"
        )
    columns = [name for name in events.columns if name in read or name == order]
    places = tuple(map(columns.index, read))
    reader = Reader(source.schema, places, tuple(read), True, json is not None, ignore_unknown)
    return reader, columns, None if order is None else columns.index(order)


def _fields(schema: pa.Schema) -> list[StructField]:
    from pyspark.sql.pandas.types import from_arrow_schema

    return list(from_arrow_schema(schema).fields)


def _require_state(session: SparkSession) -> None:
    """Raises an error in one line where Spark's state store cannot hold tables."""
    if importlib.util.find_spec("google") is None or importlib.util.find_spec("google.protobuf") is None:
        raise PipelineError("joins on Spark need protobuf: pip install 'tamis[spark]'")
    if session.conf.get(_PROVIDER) != ROCKSDB:
        raise PipelineError(f"joins keep tables in RocksDB: set {_PROVIDER} to {ROCKSDB}, or use pipeline.session()")


def content(
    tables: Mapping[str, DataFrame],
    subscriptions: Subscribed,
    *,
    order: str | None = None,
    parts: int = PARTS,
    folder: str | Path | None = None,
) -> DataFrame:
    """Current results of all join subscriptions over given tables: a row a result, `subscription` and `row` (JSON).

    `tables` has a DataFrame for each table's name, whose columns are attributes; a table that is not there is empty.
    One job serves all subscriptions. `order` names a column by which the rows of a key follow each other, or by which
    retention counts, where either matters. Rows that break the schema are left out: `validate` tells of them.
    """
    source = opened_source(subscriptions)
    schema = source.schema
    unknown = [name for name in tables if name not in schema.tables]
    if unknown or not tables:
        raise PipelineError(
            f"there is no table {unknown[0] if unknown else ''!r} in the schema; there are {', '.join(schema.tables)}"
        )
    streaming = [name for name, frame in tables.items() if frame.isStreaming]
    if streaming:
        raise PipelineError(f"{streaming[0]!r} is a stream, which has no content yet; use pipeline.join")
    events: DataFrame | None = None
    for name, frame in tables.items():
        own = _rows(name, frame)
        events = own if events is None else events.unionByName(own, allowMissingColumns=True)
    assert events is not None
    return join(events, source, order=order, parts=parts, folder=folder).select(SUBSCRIPTION, "row")


def _rows(table: str, frame: DataFrame) -> DataFrame:
    """Rows as events that put them."""
    from pyspark.sql import functions

    clash = [name for name in frame.columns if name in (EVENT_TYPE, OPERATION)]
    rows = frame.drop(*clash) if clash else frame
    return rows.withColumn(EVENT_TYPE, functions.array(functions.lit(table)))


# Stateful query `join_stream`: keeps tables, and emits changes of join results, micro-batch by micro-batch.

_PARTITIONS = "spark.sql.shuffle.partitions"


def join_stream(
    events: DataFrame,
    subscriptions: Subscribed,
    *,
    changes: Sink,
    dead_letters: Sink,
    checkpoint: str | Path,
    order: str | None = None,
    json: str | None = None,
    ignore_unknown: bool = False,
    lateness: str | None = None,
    time: str | None = None,
    parts: int = PARTS,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    folder: str | Path | None = None,
) -> StreamingQuery:
    """Starts a query over a stream of changes of tables, resumed from `checkpoint` if there is one.

    `changes` and `dead_letters` are called with what `join` gives for the batch, and its number; dead letters only if
    there are any. If either fails, or the machine does, the batch is run again from the tables as they were before it,
    with the same events and the same version of the subscriptions, and gives the same `notification`s. The other
    arguments are those of `join`, and `trigger` and `name` Spark's own.
    """
    require_stream(events, "pipeline.join")
    told = answers(
        events, subscriptions, order=order, json=json, ignore_unknown=ignore_unknown, lateness=lateness, time=time,
        parts=parts, folder=folder,
    )  # fmt: skip

    def run(batch: DataFrame, number: int) -> None:
        # Cells are asked once, and all of them: what a sink does not look at must be in the state all the same. Their
        # answers are kept packed; a sink unpacks what it looks at.
        packed = batch.persist()
        try:
            dead = [row[0] for row in packed.selectExpr("dead IS NOT NULL").collect()]
            changes(rows_of(packed, dead_letters=False), number)
            if any(dead):
                refused = rows_of(packed.where("dead IS NOT NULL"), dead_letters=True)
                dead_letters(refused.select("event", VIOLATIONS, REASON, ORDER), number)
        finally:
            packed.unpersist()

    with _partitions(events.sparkSession, len(cells_of(subscriptions, events, parts, folder))):
        return started(told, run, checkpoint, trigger=trigger, name=name)


@contextmanager
def _partitions(session: SparkSession, count: int) -> Iterator[None]:
    """Sets a task for each cell. A query reads the setting when it is started, and keeps it with its checkpoint."""
    before = str(session.conf.get(_PARTITIONS))
    session.conf.set(_PARTITIONS, count)
    try:
        yield
    finally:
        session.conf.set(_PARTITIONS, before)
