"""Subscriptions in a DataFrame compile in parallel; the bad ones come back in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import tamis
from tamis import pipeline
from tamis.errors import SubscriptionError
from tamis.testing import redundant_crowds, schemas
from tamis.workloads import named
from tests.contract.every import answers
from tests.pipeline.auction_day import SCHEMA, expected, some_lots, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
_NAMES = ["id", "filter"]


def test_an_index_compiled_on_spark_answers_like_one_compiled_here(spark: SparkSession) -> None:
    table = pa.table({"id": list(texts()), "filter": list(texts().values())})
    index, errors = pipeline.compile(spark.createDataFrame(table).repartition(5), SCHEMA)
    lots = some_lots(200)
    assert [sorted(ids) for ids in index.match(lots).to_lists()] == list(expected(lots).values())
    assert errors.count() == 0
    assert len(index) == len(texts())


def test_an_index_compiled_on_spark_has_the_matcher_and_the_schedule_asked_for(spark: SparkSession) -> None:
    @tamis.operator(cost=1.0)
    def worth(price: float) -> bool:
        return price > 0

    given = dict(list(texts().items())[:50]) | {"calling": "worth() AND price > 0"}
    table = pa.table({"id": list(given), "filter": list(given.values())})
    index, errors = pipeline.compile(
        spark.createDataFrame(table),
        SCHEMA,
        operators=[worth],
        schedule="sub-order",
        matcher="tree",
        options={"factor": ["period"]},
    )
    assert errors.count() == 0
    assert index.matcher.name == "tree"
    assert index.matcher.given_options["factor"] == ("period",)
    assert index.calling is not None
    assert index.calling.schedule == "sub-order"
    lots = some_lots(50)
    here = tamis.compile(given, SCHEMA, operators=[worth])
    assert answers(index, lots) == answers(here, lots)


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


def test_filters_with_redundancy_compile_as_they_do_here(spark: SparkSession) -> None:
    _check_redundant(spark, tables=3, workloads=4)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_workloads_with_redundancy_compile_as_they_do_here(spark: SparkSession) -> None:
    _check_redundant(spark, tables=125, workloads=8)


def _check_redundant(spark: SparkSession, tables: int, workloads: int) -> None:
    """Compiles generated workloads of some 120 filters: on Spark those of one schema as one table, here each alone."""

    # What fails is not made smaller, which would take a job for each step.
    @settings(max_examples=tables, phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(data=st.data())
    def case(data: st.DataObject) -> None:
        schema = data.draw(schemas())
        drawn = [data.draw(redundant_crowds(160, schema=schema)) for _ in range(workloads)]
        named = [{f"{n}:{id}": text for id, text in one.subscriptions.items()} for n, one in enumerate(drawn)]
        rows = pa.table([[id for one in named for id in one], [text for one in named for text in one.values()]], _NAMES)
        index, _ = pipeline.compile(spark.createDataFrame(rows), schema)
        assert sorted(_said(index)) == sorted(said for one in named for said in _said(tamis.compile(one, schema)))
        for number, (workload, filters) in enumerate(zip(drawn, named, strict=True)):
            found = [[id for id in ids if id.startswith(f"{number}:")] for ids in answers(index, workload.events)]
            assert found == answers(tamis.compile(filters, schema), workload.events)

    case()


def _said(index: tamis.Index) -> list[tuple[str, str]]:
    """Every subscription's id, with the complaint about those that were refused."""
    return [*((id, "") for id in index.ids().to_pylist()), *((id, str(error)) for id, error in index.errors)]


def test_a_table_of_something_else_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SubscriptionError, match="no column 'filter'; it has id, text"):
        pipeline.compile(spark.createDataFrame([("a", "b")], "id string, text string"), SCHEMA)


def test_no_subscriptions_make_an_empty_index(spark: SparkSession) -> None:
    index, errors = pipeline.compile(spark.createDataFrame([], "id string, filter string"), SCHEMA)
    assert len(index) == 0
    assert errors.count() == 0
