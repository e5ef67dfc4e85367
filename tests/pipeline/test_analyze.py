"""An analysis on Spark finds what one without it finds, also where workers look for covers."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tamis
from tamis import pipeline
from tamis.errors import PipelineError
from tests.pipeline.auction_day import SCHEMA, compiled, expected, frame, some_lots, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SAME = ("id", "finding", "remedy", "duplicate_of", "covered_by", "contradictory", "always_true", "matches")
LOTS = some_lots(300)


def told(analysis: tamis.Analysis, *columns: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = analysis.subscriptions.select(list(columns)).to_pylist()
    return sorted(rows, key=lambda row: str(row["id"]))


def test_workers_find_the_same_covers(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[pipeline.analyze.__module__]  # whose name is that of the function
    monkeypatch.setattr(module, "_FEW", 10)
    monkeypatch.setattr(module, "_A_TASK", 50)
    many = texts(1_200)
    subscriptions = spark.createDataFrame(pa.table({"id": list(many), "filter": list(many.values())}))
    there = pipeline.analyze(subscriptions, SCHEMA)
    here = tamis.analyze(many, SCHEMA)
    assert there.counts == here.counts
    # Which of several covers is named may differ: rows come in another order.
    assert {row["id"] for row in told(there, *SAME) if row["covered_by"]} == {
        row["id"] for row in told(here, *SAME) if row["covered_by"]
    }


def test_a_history_is_counted_by_the_workers(spark: SparkSession) -> None:
    analysis = pipeline.analyze(compiled(), history=frame(spark, LOTS))
    counted = Counter(id for ids in expected(LOTS).values() for id in ids)
    found = dict(zip(*(analysis.subscriptions[c].to_pylist() for c in ("id", "matches")), strict=True))
    assert found == {id: counted.get(id, 0) for id in texts()}
    assert analysis.events == len(LOTS)
    assert analysis.attributes["presence"].null_count == 0


def test_any_form_of_subscriptions_will_do(spark: SparkSession, tmp_path: Path) -> None:
    index = compiled()
    index.save(tmp_path / "saved")
    shards = pipeline.shard(index, tmp_path / "shards", 3).shards
    table = pipeline.SubscriptionTable.create(tmp_path / "table", index)
    expected_counts = tamis.analyze(index).counts
    for form in (tmp_path / "saved", shards, table):
        assert pipeline.analyze(form).counts == expected_counts
    assert spark is not None


def test_what_is_refused_is_named_and_texts_need_a_schema(spark: SparkSession) -> None:
    analysis = pipeline.analyze({"dear": "price > 500", "bad": "prise > 5"}, SCHEMA)
    assert [id for id, _ in analysis.refused] == ["bad"]
    assert len(analysis) == 1
    with pytest.raises(PipelineError, match="need the schema"):
        pipeline.analyze(spark.createDataFrame([("a", "price > 5")], "id string, filter string"))
