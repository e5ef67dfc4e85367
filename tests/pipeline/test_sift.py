"""`sift` hands every micro-batch to one sink in one piece, and asks for the subscriptions before each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tamis.errors import PipelineError
from tamis.pipeline import SubscriptionTable, read_json_lines
from tamis.pipeline.stream import sift
from tamis.pipeline.table.subscriptions import Snapshot
from tests.pipeline.auction_day import compiled, expected, frame, some_lots, texts, write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LOTS = some_lots(120)


@pytest.fixture
def no_query_left(spark: SparkSession) -> Iterator[None]:
    yield
    for query in spark.streams.active:
        query.stop()


@pytest.mark.usefixtures("no_query_left")
def test_the_sink_gets_what_matched_or_is_dead_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    table = SubscriptionTable.create(tmp_path / "table", compiled())
    asked: list[int] = []
    answers: list[tuple[int, pa.Table]] = []

    def versions(query: str, batch: int) -> Snapshot:
        asked.append(batch)
        return table.snapshot(table.note(query, batch))

    (tmp_path / "lots").mkdir()
    query = sift(
        read_json_lines(spark, tmp_path / "lots", stream=True),
        versions,
        sink=lambda answer, number: answers.append((number, answer)),
        checkpoint=tmp_path / "checkpoint",
        json="value",
        keep=["value"],
    )
    write_lines(tmp_path / "lots", "a", [*LOTS[:60], "not JSON"])
    query.processAllAvailable()
    table.change(add={"everything": "price > 0"})
    write_lines(tmp_path / "lots", "b", LOTS[60:])
    query.processAllAvailable()
    query.stop()
    assert asked == [number for number, _ in answers] == [0, 1]
    assert all(answer.column_names == ["value", "subscriptions", "violations"] for _, answer in answers)
    first, second = (answer.to_pylist() for _, answer in answers)
    (dead,) = [row for row in first if row["violations"] is not None]
    assert (dead["value"], dead["subscriptions"]) == ("not JSON", [])
    told = sorted(sorted(row["subscriptions"]) for row in first if row["violations"] is None)
    assert told == sorted(ids for ids in expected(LOTS[:60]).values() if ids)
    now = expected(LOTS[60:], texts() | {"everything": "price > 0"})
    assert sorted(sorted(row["subscriptions"]) for row in second) == sorted(map(sorted, now.values()))


def test_a_frame_that_is_no_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no stream"):
        sift(
            frame(spark, LOTS[:1]),
            lambda query, batch: pytest.fail("there is no batch"),
            sink=print,
            checkpoint=tmp_path,
            json="title",
            keep=[],
        )
