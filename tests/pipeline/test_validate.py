"""Validation parts events from dead letters, and loses neither."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tamis import pipeline
from tamis.errors import PipelineError
from tamis.workloads.auction_lots import json_lines
from tests.pipeline.auction_day import SCHEMA, compiled, expected, found_pairs, pairs, some_lots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_every_line_is_valid_or_dead_and_the_dead_have_a_reason(spark: SparkSession) -> None:
    lines = list(json_lines(400, seed=4, malformed=0.3))
    texts = spark.createDataFrame(pa.table({"value": lines, "number": pa.array(range(len(lines)))})).repartition(3)
    valid, dead = pipeline.validate(texts, SCHEMA, json="value")
    told = SCHEMA.check_json(pa.array(lines))
    assert sorted(row["number"] for row in valid.collect()) == told.valid_rows.to_pylist()
    rows = {row["number"]: row for row in dead.collect()}
    assert sorted(rows) == sorted(set(told.violations["event"].to_pylist()))
    assert all(rows[number]["value"] == lines[number] for number in rows)
    for violation in told.violations.to_pylist():
        row = rows[violation.pop("event")]
        assert violation in [found.asDict() for found in row["violations"]]
        assert violation["message"] in row["reason"]


def test_valid_lines_have_the_attributes_in_place_of_the_text_and_match(spark: SparkSession) -> None:
    lots = some_lots(100)
    texts = spark.createDataFrame([(json.dumps(lot), "x") for lot in lots], "line string, origin string")
    valid, dead = pipeline.validate(texts, SCHEMA, json="line")
    assert valid.columns == ["origin", *SCHEMA.attributes]
    assert dead.columns == ["line", "origin", "violations", "reason"]
    assert dead.isEmpty()
    assert found_pairs(pipeline.match(valid, compiled())) == pairs(expected(lots))


def test_lines_may_come_as_bytes_and_not_all_of_them_as_text(spark: SparkSession) -> None:
    good = json.dumps({"event_type": ["antiques"], "price": 1.0, "quantity": 1, "period": "XIX"}).encode()
    rows = spark.createDataFrame(pa.table({"value": pa.array([good, b"\xff\xfe", None, b""], pa.binary())}))
    valid, dead = pipeline.validate(rows, SCHEMA, json="value")
    assert [row["price"] for row in valid.collect()] == [1.0]
    assert sorted(row["violations"][0]["rule"] for row in dead.collect()) == ["form"] * 3


def test_rows_with_types_are_checked_and_keep_their_columns(spark: SparkSession) -> None:
    rows = pa.table(
        {
            "event_type": [["antiques"], ["antiques"], ["antiques"], ["livestock"], None],
            "price": [1.0, float("nan"), 2.0, 3.0, 4.0],
            "quantity": [1, 1, None, 1, 1],
            "period": ["XIX", "XIX", "XIX", "XIX", "XIX"],
            "note": ["good", "NaN", "no quantity", "no such type", "no type"],
        }
    )
    valid, dead = pipeline.validate(spark.createDataFrame(rows), SCHEMA)
    assert [(row["note"], row["price"]) for row in valid.collect()] == [("good", 1.0)]
    assert valid.columns == rows.column_names
    reasons = {row["note"]: row["violations"][0]["rule"] for row in dead.collect()}
    assert reasons == {"NaN": "domain", "no quantity": "R2", "no such type": "R1", "no type": "R1"}


def test_unknown_names_in_a_text_are_refused_or_passed_over(spark: SparkSession) -> None:
    line = '{"event_type": ["antiques"], "price": 1.0, "quantity": 1, "period": "XIX", "legs": 4}'
    texts = spark.createDataFrame([(line,)], "value string")
    assert pipeline.validate(texts, SCHEMA, json="value").dead.count() == 1
    assert pipeline.validate(texts, SCHEMA, json="value", ignore_unknown=True).valid.count() == 1


def test_columns_that_cannot_be_are_refused_at_once(spark: SparkSession) -> None:
    texts = spark.createDataFrame([("{}", 1.0)], "value string, price double")
    with pytest.raises(PipelineError, match="no column 'text' of JSON texts"):
        pipeline.validate(texts, SCHEMA, json="text")
    with pytest.raises(PipelineError, match="'price' holds double, not JSON texts"):
        pipeline.validate(texts, SCHEMA, json="price")
    with pytest.raises(PipelineError, match="'price' would be there twice"):
        pipeline.validate(texts, SCHEMA, json="value")
    with pytest.raises(PipelineError, match="none of the columns"):
        pipeline.validate(texts.select("value"), SCHEMA)
