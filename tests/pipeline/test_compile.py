"""Subscriptions in a DataFrame compile in parallel; the bad ones come back in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tamis
from tamis import pipeline
from tamis.errors import SubscriptionError
from tamis.workloads import named
from tests.pipeline.auction_day import SCHEMA, expected, some_lots, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_an_index_compiled_on_spark_answers_like_one_compiled_here(spark: SparkSession) -> None:
    table = pa.table({"id": list(texts()), "filter": list(texts().values())})
    index, errors = pipeline.compile(spark.createDataFrame(table).repartition(5), SCHEMA)
    lots = some_lots(200)
    assert [sorted(ids) for ids in index.match(lots).to_lists()] == list(expected(lots).values())
    assert errors.count() == 0
    assert len(index) == len(texts())


def test_bad_subscriptions_come_back_with_their_errors_and_stop_no_other(spark: SparkSession) -> None:
    rows = [
        ("good", "price > 1"),
        ("typo", "prise > 1"),
        ("half", "price >"),
        ("nothing", None),
        ("twice", "price > 1"),
        ("twice", "price > 2"),
        (None, "price > 3"),
    ]
    index, errors = pipeline.compile(spark.createDataFrame(rows, "id string, filter string"), SCHEMA)
    assert index.ids().to_pylist() == ["good"]
    found = {row["id"]: row for row in errors.collect()}
    assert {id: row["error"] for id, row in found.items()} == {
        "typo": "FilterTypeError",
        "half": "FilterSyntaxError",
        "nothing": "FilterSyntaxError",
        "twice": "SubscriptionError",
        "": "SubscriptionError",
    }
    typo = found["typo"]
    assert typo["filter"][typo["start"] : typo["end"]] == "prise"
    assert "did you mean price" in typo["message"]


def test_many_texts_of_few_shapes_bind_in_parallel(spark: SparkSession) -> None:
    workload = named("le_subscribe")(3000, 200)
    index, _ = pipeline.compile(spark.createDataFrame(workload.subscriptions).repartition(4), workload.schema)
    here = tamis.compile(workload.subscriptions, workload.schema)
    assert [sorted(ids) for ids in index.match(workload.events).to_lists()] == [
        sorted(ids) for ids in here.match(workload.events).to_lists()
    ]


def test_a_table_of_something_else_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SubscriptionError, match="no column 'filter'; it has id, text"):
        pipeline.compile(spark.createDataFrame([("a", "b")], "id string, text string"), SCHEMA)


def test_no_subscriptions_make_an_empty_index(spark: SparkSession) -> None:
    index, errors = pipeline.compile(spark.createDataFrame([], "id string, filter string"), SCHEMA)
    assert len(index) == 0
    assert errors.count() == 0
