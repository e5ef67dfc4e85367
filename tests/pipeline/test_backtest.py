"""A backtest counts what subscriptions would have matched, and shows it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tamis import pipeline
from tamis.errors import PipelineError
from tests.pipeline.auction_day import SCHEMA, compiled, expected, frame, some_lots, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LOTS = some_lots(400)
WEEK = timedelta(weeks=1)


def week_of(lot: dict[str, str]) -> datetime | None:
    """The start of the week in which a lot was opened, as weeks since 1970 go."""
    if "opened" not in lot:
        return None
    seconds = datetime.fromisoformat(lot["opened"]).timestamp()
    return datetime.fromtimestamp(seconds // WEEK.total_seconds() * WEEK.total_seconds(), UTC).replace(tzinfo=None)


def utc(moment: datetime | None) -> datetime | None:
    """Spark hands out local times without a zone."""
    return None if moment is None else moment.astimezone(UTC).replace(tzinfo=None)


@pytest.fixture(scope="module")
def told() -> dict[str, list[str]]:
    return expected(LOTS)


def test_counts_samples_and_totals_are_the_oracles(spark: SparkSession, told: dict[str, list[str]]) -> None:
    history = frame(spark, LOTS)
    found = pipeline.backtest(history, compiled(), time_column="opened", window="1 week", samples=2)
    by_window = Counter((id, week_of(lot)) for lot in LOTS for id in told[lot["title"]])
    totals = Counter(id for ids in told.values() for id in ids)
    assert {(row[0], utc(row[1])): row[2] for row in found.counts.collect()} == by_window
    assert {row["subscription"]: row["matches"] for row in found.totals.collect()} == totals
    assert {utc(row[0]): row[1] for row in found.volume.collect()} == Counter(map(week_of, LOTS))
    assert (found.events, found.illegible, found.errors) == (len(LOTS), 0, [])
    samples = found.samples.collect()
    assert Counter(row["subscription"] for row in samples) == {id: min(2, count) for id, count in totals.items()}
    assert all(row["subscription"] in told[row["title"]] for row in samples)
    assert found.samples.columns == ["subscription", *history.columns]
    found.close()


def test_texts_are_compiled_and_the_refused_reported(spark: SparkSession) -> None:
    history = frame(spark, LOTS)
    found = pipeline.backtest(history, {"dear": "price > 500", "bad": "prise > 5"}, SCHEMA, samples=0)
    (dear,) = found.totals.collect()
    assert dear["matches"] == sum(lot["price"] > 500 for lot in LOTS)
    assert [id for id, _ in found.errors] == ["bad"]
    assert found.samples.count() == 0
    table = spark.createDataFrame([("dear", "price > 500")], "id string, filter string")
    assert pipeline.backtest(history, table, SCHEMA).totals.collect()[0]["matches"] == dear["matches"]
    with pytest.raises(PipelineError, match="need the schema"):
        pipeline.backtest(history, {"dear": "price > 500"})


def test_a_column_that_tells_no_time_is_refused(spark: SparkSession) -> None:
    history = frame(spark, LOTS[:5])
    with pytest.raises(PipelineError, match="no column 'when' to tell the time"):
        pipeline.backtest(history, compiled(), time_column="when")
    with pytest.raises(PipelineError, match="'price' holds double, which tells no time"):
        pipeline.backtest(history, compiled(), time_column="price")
    with pytest.raises(PipelineError, match="1000 samples cannot be kept"):
        pipeline.backtest(history, compiled(), samples=1000)


def test_a_history_may_have_any_columns_and_dates_for_times(spark: SparkSession) -> None:
    history = frame(spark, LOTS).selectExpr("price", "title AS kind", "1 AS matches", "DATE '2024-05-01' AS window")
    found = pipeline.backtest(history, {"dear": "price > 500"}, SCHEMA, time_column="window", samples=1)
    assert next(row["kind"] for row in found.samples.collect()) in {lot["title"] for lot in LOTS if lot["price"] > 500}
    ((_, window, _),) = found.counts.collect()
    assert utc(window) == datetime(2024, 5, 1)


def test_shards_are_counted_like_one_index(spark: SparkSession, told: dict[str, list[str]], tmp_path: Path) -> None:
    shards = pipeline.shard(compiled(), tmp_path / "shards", 3).shards
    found = pipeline.backtest(frame(spark, LOTS), shards, samples=1, keep=["title"])
    totals = Counter(id for ids in told.values() for id in ids)
    assert {row["subscription"]: row["matches"] for row in found.totals.collect()} == totals
    assert {row["subscription"] for row in found.samples.collect()} == set(totals)


def test_events_of_no_domain_are_counted_and_spoil_nothing(spark: SparkSession) -> None:
    rows = [(["antiques"], float(price)) for price in (1, 2, "nan", 3)]
    history = spark.createDataFrame(rows, "event_type array<string>, price double").coalesce(1)
    found = pipeline.backtest(history, {"all": "price > 0"}, SCHEMA)
    assert (found.events, found.illegible) == (3, 1)
    assert found.totals.collect()[0]["matches"] == 3


def test_the_plot_is_a_picture(spark: SparkSession, tmp_path: Path) -> None:
    found = pipeline.backtest(frame(spark, LOTS), compiled(), time_column="opened", window=WEEK)
    found.plot(tmp_path / "plot.png")
    found.plot(tmp_path / "plot.svg", top=3)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
    with pytest.raises(PipelineError, match=r"ends in \.png or"):
        found.plot(tmp_path / "plot.txt")


def test_a_history_without_matches_can_be_drawn_too(spark: SparkSession, tmp_path: Path) -> None:
    found = pipeline.backtest(frame(spark, LOTS), {"none": "price < 0"}, SCHEMA, time_column="opened")
    found.plot(tmp_path / "plot.png")
    assert found.counts.count() == 0


def test_selectivities_are_shares_of_the_events(spark: SparkSession) -> None:
    told = pipeline.selectivities(frame(spark, LOTS), ["price > 500", "price < 0", "price IS NOT NULL"], SCHEMA)
    assert told["price > 500"] == pytest.approx(sum(lot["price"] > 500 for lot in LOTS) / len(LOTS))
    assert (told["price < 0"], told["price IS NOT NULL"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "seconds"), [("1 hour", 3600), ("15 minutes", 900), ("day", 86_400), ("2 WEEKS", 1_209_600)]
)
def test_windows_are_said_in_words(text: str, seconds: int) -> None:
    from tamis.pipeline.backtest import window_width

    assert window_width(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("wrong", ["soon", "0 days", "1 fortnight", "-3 hours", timedelta(0)])
def test_a_width_that_is_none_is_refused(wrong: str | timedelta) -> None:
    from tamis.pipeline.backtest import window_width

    with pytest.raises(PipelineError, match="window"):
        window_width(wrong)


def test_the_oracle_knows_matches_to_count(told: dict[str, list[str]]) -> None:
    assert sum(map(len, told.values())) > 50
    assert len(texts()) == 400
