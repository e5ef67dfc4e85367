"""Joins on Spark: contents are the oracle's, whatever is joined by what, in one batch or many."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tamis import pipeline
from tamis.errors import PipelineError
from tests.pipeline.joining.stock_day import CHAIN, SCHEMA, TEXTS, canonical, contents, followed, history, refused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("google.protobuf", reason="Spark's state API needs protobuf")

pytestmark = pytest.mark.spark

COLUMNS = "event_type array<string>, operation string, Symbol string, Market string, PER double, Analyst string, Rating double, open boolean, n long"  # noqa: E501
EVENTS = history(600)


def frame(spark: SparkSession, events: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(events, COLUMNS)


@pytest.mark.parametrize("texts", [TEXTS, TEXTS | CHAIN], ids=["one key", "several keys"])
def test_the_contents_of_a_batch_are_the_oracles(spark: SparkSession, texts: dict[str, str]) -> None:
    index = tamis.compile(texts, SCHEMA)
    rows = pipeline.join(frame(spark, EVENTS).repartition(3), index, order="n", dead_letters=True).collect()
    changes = [row for row in rows if row["subscription"] is not None]
    assert {row["change"] for row in changes} == {"added"}
    assert followed(changes, texts) == contents(EVENTS, texts)
    assert len({row["notification"] for row in changes}) == len(changes)
    dead = [row for row in rows if row["subscription"] is None]
    # Tables that nobody joins are not kept.
    kept = EVENTS if "chain" in texts else [event for event in EVENTS if event["event_type"] != ["Markets"]]
    assert sorted(row["sequence"] for row in dead) == refused(kept)
    assert all(row["reason"] and row["violations"][0]["rule"] == "table" for row in dead)


def test_the_content_of_tables_in_files_is_the_oracles(spark: SparkSession) -> None:
    texts = TEXTS | CHAIN
    rows = [event for event in EVENTS if "operation" not in event]
    events = frame(spark, rows)
    tables = {name: events.where(f"event_type[0] = '{name}'").drop("event_type") for name in SCHEMA.tables}
    found = pipeline.content(tables, tamis.compile(texts, SCHEMA), order="n").collect()
    held = {id: Counter() for id in texts}  # type: dict[str, Counter[str]]
    for row in found:
        held[row["subscription"]][canonical(json.loads(row["row"]))] += 1
    assert held == contents(rows, texts)


def test_content_of_what_is_no_table_is_refused(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match="no table 'News' in the schema; there are Stocks"):
        pipeline.content({"News": frame(spark, EVENTS)}, tamis.compile(TEXTS, SCHEMA))
