"""Shards answer as the whole index does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tamis import pipeline
from tamis.errors import IndexFileError, PipelineError
from tamis.pipeline.workers import inputs as opened
from tests.pipeline.auction_day import SCHEMA, compiled, expected, found_pairs, frame, pairs, some_lots, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LOTS = some_lots(300)


def test_an_index_cut_into_shards_answers_as_before(spark: SparkSession, tmp_path: Path) -> None:
    cut = pipeline.shard(compiled(), tmp_path / "shards", 4)
    assert len(cut.shards) == 4
    assert not cut.errors
    events = frame(spark, LOTS)
    assert found_pairs(pipeline.match(events, cut.shards)) == pairs(expected(LOTS))
    rows = pipeline.match(events, tmp_path / "shards", "arrays").collect()
    assert {row["title"]: sorted(row["subscriptions"]) for row in rows} == expected(LOTS)


def test_numbers_run_through_all_shards(spark: SparkSession, tmp_path: Path) -> None:
    shards = pipeline.shard(compiled(), tmp_path / "shards", 3).shards
    ids = pipeline.numbering(shards, spark)
    rows = pipeline.match(frame(spark, LOTS), shards, "numbers").collect()
    told = {row["title"]: sorted(ids[number].as_py() for number in row["subscriptions"]) for row in rows}
    assert told == expected(LOTS)


def test_a_dataframe_of_subscriptions_is_cut_without_an_index_of_all(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"id": [*texts(), "bad"], "filter": [*texts().values(), "prise > 1"]})
    cut = pipeline.shard(spark.createDataFrame(table), tmp_path / "shards", 3, SCHEMA)
    assert [id for id, _ in cut.errors] == ["bad"]
    assert found_pairs(pipeline.match(frame(spark, LOTS), cut.shards)) == pairs(expected(LOTS))


def test_a_worker_has_one_shard_open_at_a_time(tmp_path: Path) -> None:
    shards = pipeline.shard(compiled(), tmp_path / "shards", 3).shards
    for part in shards.snapshot().parts:
        opened.opened(part, alone=True)
        assert [held for held, _ in opened._OPEN] == [part]


def test_shards_that_are_incomplete_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="0 shards"):
        pipeline.shard(compiled(), tmp_path / "none", 0)
    pipeline.shard(compiled(), tmp_path / "shards", 2)
    with pytest.raises(PipelineError, match="holds shards already"):
        pipeline.shard(compiled(), tmp_path / "shards", 2)
    (tmp_path / "shards" / "shard-0001").rename(tmp_path / "gone")
    with pytest.raises(IndexFileError):
        pipeline.Shards.open(tmp_path / "shards")
