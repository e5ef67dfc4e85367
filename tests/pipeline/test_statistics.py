"""Statistics of past events: exact where they can be, a fair sample where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tamis
from tamis import pipeline
from tamis.errors import StatisticsError
from tamis.matching.base.statistics import Statistics
from tamis.workloads import named
from tests.pipeline.auction_day import SCHEMA, expected, frame, some_lots, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LOTS = some_lots(600)


def test_statistics_of_all_events_are_those_of_one_batch(spark: SparkSession) -> None:
    told = pipeline.statistics(frame(spark, LOTS), SCHEMA)
    here = Statistics.from_events(SCHEMA.to_arrow(LOTS))
    assert told.events == len(LOTS)
    for name, attribute in here.attributes.items():
        assert told.attributes[name].presence == pytest.approx(attribute.presence)
        assert dict(told.attributes[name].heavy) == pytest.approx(dict(attribute.heavy))
        assert told.attributes[name].quantiles == attribute.quantiles


def test_a_sample_is_uniform_and_presence_exact(spark: SparkSession) -> None:
    numbers = pa.table({"b1": pa.array([number if number % 4 else None for number in range(20_000)])})
    schema = tamis.Schema.from_dict({"attributes": {"b1": "integer"}, "event_types": {"event": {"b1": "optional"}}})
    told = pipeline.statistics(spark.createDataFrame(numbers).repartition(2), schema, sample=2000)
    assert told.events == 20_000
    assert told.attributes["b1"].presence == 0.75
    quantiles = told.attributes["b1"].quantiles
    assert quantiles[len(quantiles) // 2] == pytest.approx(10_000, abs=1000)
    assert told == pipeline.statistics(spark.createDataFrame(numbers).repartition(2), schema, sample=2000)


def test_values_of_no_domain_are_left_out(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1.0,), (float("nan"),), (2.0,)], "price double")
    told = pipeline.statistics(events, SCHEMA)
    assert told.events == 2
    assert told.attributes["price"].quantiles == (1.0, 2.0)
    assert told.attributes["title"].presence == 0.0


def test_the_planner_takes_them_and_answers_stay_the_same(spark: SparkSession) -> None:
    told = pipeline.statistics(frame(spark, LOTS), SCHEMA)
    index = tamis.compile(texts(), SCHEMA, statistics=told)
    assert [sorted(ids) for ids in index.match(LOTS).to_lists()] == list(expected(LOTS).values())


def test_no_events_make_no_statistics(spark: SparkSession) -> None:
    workload = named("le_subscribe")(1, 1)
    with pytest.raises(StatisticsError, match="no events"):
        pipeline.statistics(spark.createDataFrame(workload.events).where("1 = 0"), workload.schema)
