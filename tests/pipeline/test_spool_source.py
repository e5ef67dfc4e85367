"""The spool as Spark reads it: whole batches, streams with a checkpoint, few or many tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from tamis import pipeline
from tamis.eventlog.spool import SpoolError, SpoolWriter
from tamis.pipeline.spool_source import LARGE, SMALL, Settings, SpoolStream
from tests.eventlog.spool.appended import append, filled, numbered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

spark_only = pytest.mark.spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def stream_over(folder: Path, start: int | None = None) -> SpoolStream:
    return SpoolStream(Settings(str(folder), 100, 4, start))


def gathered(frame: DataFrame, checkpoint: Path, **trigger: bool) -> list[pa.Table]:
    """What each micro-batch of a query has, until there is no more."""
    batches: list[pa.Table] = []
    sink: Callable[[DataFrame, int], None] = lambda batch, _: batches.append(batch.toArrow())  # noqa: E731
    query = (
        frame.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint)).trigger(**trigger).start()
    )
    query.awaitTermination()
    return batches


@pytest.mark.parametrize(
    ("events", "tasks"),
    [(1, 1), (SMALL, 1), (2 * SMALL - 1, 1), (2 * SMALL, 2), (3 * SMALL, 3), (LARGE, 4), (10 * LARGE, 10)],
)
def test_few_events_are_one_task_and_many_are_cut_evenly(events: int, tasks: int) -> None:
    parts = Settings("", 1, 4, None).cut(7, 7 + events)
    assert len(parts) == tasks
    assert [edge for part in parts for edge in part][1:-1:2] == [edge for part in parts for edge in part][2::2]
    assert (parts[0][0], parts[-1][1]) == (7, 7 + events)
    sizes = [end - start for start, end in parts]
    assert max(sizes) - min(sizes) <= 1


def test_a_micro_batch_takes_no_more_than_its_limit_and_never_goes_back(folder: Path) -> None:
    filled(folder, 250)
    stream = stream_over(folder)
    start = stream.initialOffset()
    limit = stream.getDefaultReadLimit()
    assert isinstance(limit, ReadMaxRows)
    ends = []
    for _ in range(4):
        start = stream.latestOffset(start, limit)
        ends.append(start["event"])
    assert ends == [100, 200, 250, 250]
    assert stream.latestOffset(stream.initialOffset(), ReadAllAvailable())["event"] == 250
    assert stream.latestOffset({**start, "event": 300}, limit)["event"] == 300
    assert stream.partitions(start, start) == []


def test_a_query_for_what_is_there_now_ends_although_more_comes(folder: Path) -> None:
    filled(folder, 50)
    stream = stream_over(folder)
    stream.prepareForTriggerAvailableNow()
    writer = SpoolWriter(folder)
    append(writer, 50, 10)
    writer.close()
    assert stream.latestOffset(stream.initialOffset(), ReadMaxRows(100))["event"] == 50
    assert stream.reportLatestOffset()["event"] == 60


def test_a_stream_may_begin_before_anyone_has_written(folder: Path) -> None:
    stream = stream_over(folder)
    start = stream.initialOffset()
    assert stream.latestOffset(start, ReadMaxRows(100)) == start
    filled(folder, 3)
    end = stream.latestOffset(start, ReadMaxRows(100))
    assert end["event"] == 3
    (part,) = stream.partitions(start, end)
    assert [batch["id"].to_pylist() for batch in stream.read(part)] == [numbered(0, 3)]


def test_a_checkpoint_over_another_spool_is_refused(folder: Path, tmp_path: Path) -> None:
    filled(folder, 3)
    filled(tmp_path / "other", 3)
    start = stream_over(folder).latestOffset(stream_over(folder).initialOffset(), ReadMaxRows(100))
    with pytest.raises(SpoolError, match="another spool"):
        stream_over(tmp_path / "other").latestOffset(start, ReadMaxRows(100))


@pytest.mark.parametrize(("start", "first"), [(None, 0), (0, 0), (20, 20), (99, 30)])
def test_a_stream_begins_where_it_is_told(folder: Path, start: int | None, first: int) -> None:
    filled(folder, 30)
    assert stream_over(folder, start).initialOffset()["event"] == first


@spark_only
def test_what_is_there_is_read_as_a_frame(spark: SparkSession, folder: Path) -> None:
    filled(folder, 3 * SMALL, 5)
    frame = pipeline.read_spool(spark, folder, stream=False)
    assert frame.rdd.getNumPartitions() == 2
    table = frame.orderBy("offset").toArrow()
    assert table["offset"].to_pylist() == list(range(3 * SMALL + 5))
    assert table["id"].to_pylist() == numbered(0, 3 * SMALL + 5)
    assert set(table["partition"].to_pylist()) == {0}
    assert pipeline.read_spool(spark, folder, stream=False, start=3 * SMALL).count() == 5
    assert dict(frame.dtypes) == {
        "offset": "bigint", "partition": "int", "id": "string", "time": "timestamp", "body": "string"
    }  # fmt: skip


@spark_only
def test_a_stream_goes_on_from_its_checkpoint_in_batches_of_limited_size(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    filled(folder, 25)
    frame = pipeline.read_spool(spark, folder, most_events=10)
    first = gathered(frame, tmp_path / "checkpoint", availableNow=True)
    assert [batch.num_rows for batch in first] == [10, 10, 5]
    writer = SpoolWriter(folder)
    append(writer, 25, 7)
    writer.close()
    second = gathered(frame, tmp_path / "checkpoint", availableNow=True)
    assert [id for batch in first + second for id in batch["id"].to_pylist()] == numbered(0, 32)


@spark_only
def test_damage_ends_the_query_with_segment_and_place(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    filled(folder, 5, 5)
    segment = next(folder.glob("*.spool"))
    raw = bytearray(segment.read_bytes())
    raw[-20] ^= 1
    segment.write_bytes(raw)
    with pytest.raises(StreamingQueryException, match=rf"the spool is damaged: {segment.name}, byte \d+: event 5"):
        gathered(pipeline.read_spool(spark, folder), tmp_path / "checkpoint", availableNow=True)
