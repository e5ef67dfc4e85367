"""Matching on Spark gives what the oracle says, in every form of output, batch and streaming."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings

import tamis
from tamis import pipeline
from tamis.errors import PipelineError
from tamis.testing import Generated, reference_matches, workloads
from tests.pipeline.auction_day import SCHEMA, compiled, expected, found_pairs, frame, pairs, some_lots, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LOTS = some_lots(300)


def test_pairs_keep_the_event_and_add_the_subscription(spark: SparkSession) -> None:
    events = frame(spark, LOTS)
    matches = pipeline.match(events, compiled())
    assert matches.columns == [*events.columns, "subscription"]
    assert found_pairs(matches) == pairs(expected(LOTS))


def test_arrays_have_every_event_also_those_that_match_nothing(spark: SparkSession) -> None:
    rows = pipeline.match(frame(spark, LOTS), compiled(), "arrays").collect()
    assert {row["title"]: sorted(row["subscriptions"]) for row in rows} == expected(LOTS)
    assert any(not row["subscriptions"] for row in rows)


def test_numbers_stand_for_the_ids_that_numbering_tells(spark: SparkSession) -> None:
    ids = pipeline.numbering(compiled(), spark)
    rows = pipeline.match(frame(spark, LOTS), compiled(), "numbers").collect()
    told = {row["title"]: sorted(ids[number].as_py() for number in row["subscriptions"]) for row in rows}
    assert told == expected(LOTS)


def test_only_the_columns_asked_for_are_kept_and_only_those_needed_are_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame(spark, LOTS).withColumn("payload", pytest.importorskip("pyspark.sql.functions").lit("x")).write.parquet(
        str(tmp_path / "lots")
    )
    events = pipeline.read_parquet(spark, tmp_path / "lots")
    matches = pipeline.match(events, compiled(), keep=["title"])
    assert matches.columns == ["title", "subscription"]
    assert found_pairs(matches) == pairs(expected(LOTS))
    assert "payload" not in matches._jdf.queryExecution().executedPlan().toString()


def test_attributes_may_be_members_of_structs(spark: SparkSession) -> None:
    events = frame(spark, LOTS).selectExpr(
        "event_type", "title", "price", "quantity", "period", "furniture_category", "tags", "sold", "opened",
        "struct(`seller.name` AS name, `seller.rating` AS rating) AS seller", "struct(`old.price` AS price) AS old",
    )  # fmt: skip
    assert found_pairs(pipeline.match(events, compiled())) == pairs(expected(LOTS))


def test_attributes_may_be_members_of_structs_in_arrays(spark: SparkSession) -> None:
    schema = tamis.Schema.from_dict(
        {"attributes": {"lines.sku": "string"}, "event_types": {"order": {"lines.sku": ["optional", "multiple"]}}}
    )
    index = tamis.compile({"b": "lines.sku = 'b'", "none": "lines.sku IS NULL"}, schema)
    events = spark.sql(
        "SELECT * FROM VALUES (1, array(named_struct('sku', 'a', 'n', 1), named_struct('sku', 'b', 'n', 2))), "
        "(2, array(named_struct('sku', CAST(NULL AS STRING), 'n', 3))) AS t(number, lines)"
    )
    rows = pipeline.match(events, index, keep=["number"]).collect()
    assert sorted((row["number"], row["subscription"]) for row in rows) == [(1, "b"), (2, "none")]


def test_a_saved_index_is_matched_where_it_lies(spark: SparkSession, tmp_path: Path) -> None:
    compiled().save(tmp_path / "index")
    assert found_pairs(pipeline.match(frame(spark, LOTS), tmp_path / "index")) == pairs(expected(LOTS))
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_an_index_is_saved_once_a_version(spark: SparkSession, tmp_path: Path) -> None:
    index = tamis.compile({"dear": "price > 1000"}, SCHEMA)
    events = frame(spark, LOTS)
    for _ in range(2):
        pipeline.match(events, index, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    index.add({"cheap": "price < 10"})
    changed = pipeline.match(events, index, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    assert found_pairs(changed) == pairs(expected(LOTS, {"dear": "price > 1000", "cheap": "price < 10"}))


def test_a_stream_is_matched_like_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    frame(spark, LOTS).write.parquet(str(tmp_path / "lots"))
    events = pipeline.read_parquet(spark, tmp_path / "lots", stream=True)
    query = pipeline.match(events, compiled()).writeStream.format("memory").queryName("matched").start()
    try:
        query.processAllAvailable()
        assert found_pairs(spark.table("matched")) == pairs(expected(LOTS))
    finally:
        query.stop()


@settings(max_examples=6)
@given(workload=workloads(max_subscriptions=30, max_events=20))
def test_generated_workloads_agree_with_the_oracle(spark: SparkSession, workload: Generated) -> None:
    batch = workload.schema.to_arrow(workload.events)
    numbered = pa.Table.from_batches([batch]).append_column("row number", pa.array(range(batch.num_rows)))
    index = tamis.compile(workload.subscriptions, workload.schema)
    rows = pipeline.match(spark.createDataFrame(numbered), index, "arrays", keep=["row number"]).collect()
    told = [sorted(row["subscriptions"]) for row in sorted(rows, key=lambda row: row["row number"])]
    assert told == reference_matches(workload.subscriptions, workload.schema, workload.events)


def test_attributes_may_differ_in_case_only(spark: SparkSession, tmp_path: Path) -> None:
    kinds = {"price": "integer", "Price": "integer", "old.price": "integer"}
    schema = tamis.Schema.from_dict({"attributes": kinds, "event_types": {"lot": dict.fromkeys(kinds, "optional")}})
    events = spark.createDataFrame([(1, 2, 3), (2, 1, 3)], "price long, Price long, `old.price` long")
    index = tamis.compile({"small": "price < Price", "large": "Price < price"}, schema)
    assert sorted(tuple(row) for row in pipeline.match(events, index).collect()) == [
        (1, 2, 3, "small"),
        (2, 1, 3, "large"),
    ]
    keyed = pipeline.with_event_key(events, ["Price"]).collect()
    assert keyed[0]["event_key"] != keyed[1]["event_key"]
    valid, _ = pipeline.validate(events, schema)
    assert valid.count() == 2


def test_more_matches_than_fit_at_once_come_out_in_pieces(spark: SparkSession) -> None:
    index = tamis.compile({f"s{number}": "price > 0" for number in range(3000)}, SCHEMA)
    events = frame(spark, some_lots(4000))
    counted = pipeline.match(events, index, "numbers", keep=[]).selectExpr("sum(size(subscriptions))")
    assert counted.collect()[0][0] == 3000 * 4000


def test_a_value_of_no_domain_fails_with_a_pointer_to_validate(spark: SparkSession) -> None:
    events = spark.createDataFrame([(["antiques"], float("nan"))], "event_type array<string>, price double")
    with pytest.raises(Exception, match=r"(?s)NaN is no number.*pipeline\.validate"):
        pipeline.match(events, compiled()).collect()


def test_what_cannot_be_is_refused_before_anything_runs(spark: SparkSession, tmp_path: Path) -> None:
    events = frame(spark, LOTS[:1])
    with pytest.raises(PipelineError, match="no output 'rows'; there are pairs, arrays and numbers"):
        pipeline.match(events, compiled(), "rows")  # type: ignore[arg-type]
    with pytest.raises(PipelineError, match="none of the columns"):
        pipeline.match(spark.range(3), compiled())
    with pytest.raises(PipelineError, match="no column 'colour' to keep"):
        pipeline.match(events, compiled(), keep=["colour"])
    with pytest.raises(PipelineError, match="'subscription' would be there twice"):
        pipeline.match(events.withColumnRenamed("title", "subscription"), compiled())
    table = pipeline.SubscriptionTable.create(tmp_path / "table", compiled())
    table.change(remove=["s0"])
    with pytest.raises(PipelineError, match="no lasting numbers"):
        pipeline.match(events, table, "numbers")


def test_the_texts_of_the_tests_are_all_accepted() -> None:
    assert not compiled().errors
    assert len(compiled()) == len(texts())


@pytest.mark.parametrize("kind", ["INTERVAL '1' MONTH", "make_interval(1, 2)", "array(make_interval(1, 2))"])
def test_a_column_that_spark_does_not_send_is_named(spark: SparkSession, kind: str) -> None:
    events = frame(spark, LOTS).selectExpr("*", f"{kind} AS lasted")
    with pytest.raises(PipelineError, match=r"the column 'lasted' is of type .*interval.*; leave it out"):
        pipeline.match(events, compiled())
    assert found_pairs(pipeline.match(events, compiled(), keep=["title"])) == pairs(expected(LOTS))


@pytest.mark.parametrize("kind", ["named_struct('amount', 5)", "parse_json('5')"])
def test_a_struct_in_an_attributes_place_is_not_taken_for_an_absent_value(spark: SparkSession, kind: str) -> None:
    events = frame(spark, LOTS).drop("price").selectExpr("*", f"{kind} AS price")
    with pytest.raises(PipelineError, match=r"the column 'price' is of type .*, and the attribute takes float: select"):
        pipeline.match(events, compiled())
