"""Backtests are taken from the store, run over the event log, and answered."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tamis.errors import PipelineError
from tamis.eventlog import open_log
from tamis.pipeline.sources import read_log
from tamis.schema import Schema
from tamis.service.base.events import parted_body
from tamis.service.store import Backtest
from tamis.service.worker.backtests import Asked, BacktestRunner, look_back
from tamis.testing import reference_matches
from tests.service.worker.auction_house import SCHEMA, AuctionHouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LONGEST = 120.0


@pytest.fixture
def house(tmp_path: Path) -> Iterator[AuctionHouse]:
    opened = AuctionHouse(tmp_path / "state")
    yield opened
    opened.close()


def answered(house: AuctionHouse, id: str) -> Backtest:
    deadline = time.monotonic() + LONGEST
    while (job := house.store.backtests.get(id)) is None or job.state not in ("done", "failed"):
        assert time.monotonic() < deadline, "the backtest is not answered"
        time.sleep(0.05)
    return job


def test_a_job_is_taken_run_and_answered(spark: SparkSession, house: AuctionHouse) -> None:
    house.publish(100)
    house.publish_texts(['{"event_type": "antiques"}'])
    everything, cheap = house.subscribe("price >= 0"), house.subscribe("price < 50")
    del everything
    texts = open_log(house.settings.log).recent(1_000)["body"].to_pylist()
    events = [json.loads(text) for text in texts[:-1]]
    expected = [
        event for event, ids in zip(events, reference_matches({"it": cheap.text}, SCHEMA, events), strict=True) if ids
    ]
    id = house.store.backtests.create("", {"filter": cheap.text})
    bad = house.store.backtests.create("", {"filter": "prise < 1"})
    none = house.store.backtests.create("", {"colour": "red"})
    runner = BacktestRunner(spark, open_log(house.settings.log), house.store)
    try:
        result = answered(house, id).result
        refused, failed = answered(house, bad), answered(house, none)
        runner.check()
    finally:
        runner.stop()
    assert result is not None
    assert (result["events"], result["illegible"], result["errors"]) == (100, 1, [])
    assert result["total"] == sum(count for _, count in result["counts"]) == len(expected) > 0
    assert sum(count for _, count in result["volume"]) == 100
    assert result["window_seconds"] >= 1
    assert datetime.fromisoformat(result["counts"][0][0]).tzinfo is not None
    assert len(result["samples"]) == min(5, len(expected))
    assert all(sample in expected for sample in result["samples"])
    assert refused.result is not None
    assert "prise" in refused.result["errors"][0]
    assert failed.state == "failed"
    assert "filter" in failed.error
    with pytest.raises(PipelineError, match="no longer run"):
        runner.check()


def test_only_events_of_the_time_asked_for_are_looked_at(spark: SparkSession, house: AuctionHouse) -> None:
    house.publish(10)
    middle = datetime.now(UTC)
    house.publish(5)
    records = read_log(spark, open_log(house.settings.log), stream=False)
    before = look_back(records, SCHEMA, Asked.read({"filter": "TRUE", "until": middle.isoformat()}))
    after = look_back(records, SCHEMA, Asked.read({"filter": "TRUE", "since": middle.isoformat(), "samples": 2}))
    assert (before["events"], before["total"]) == (10, 10)
    assert (after["events"], after["total"], len(after["samples"])) == (5, 5, 2)
    nothing = look_back(records, SCHEMA, Asked.read({"filter": "TRUE", "until": "2001-01-01"}))
    assert (nothing["events"], nothing["total"], nothing["counts"]) == (0, 0, [])


def test_attributes_may_be_called_like_the_logs_columns(spark: SparkSession, house: AuctionHouse) -> None:
    names = ("id", "time", "body", "_time", "_body", "offset", "partition", "window", "subscription")
    kinds = dict.fromkeys(names, "string")
    schema = Schema.from_dict({"attributes": kinds, "event_types": {"event": dict.fromkeys(kinds, "optional")}})
    house.publish_texts([json.dumps(dict.fromkeys(names, "a")), json.dumps({"time": "b"})])
    records = read_log(spark, open_log(house.settings.log), stream=False)
    found = look_back(records, schema, Asked.read({"filter": "time = 'a' AND _body = 'a'"}))
    assert (found["events"], found["total"]) == (2, 1)


def test_what_the_door_passed_over_is_shown_in_samples_and_no_filter_sees_it(
    spark: SparkSession, house: AuctionHouse
) -> None:
    kinds = {"price": "integer", "colour": "integer"}
    schema = Schema.from_dict({"attributes": kinds, "event_types": {"event": dict.fromkeys(kinds, "optional")}})
    known = frozenset({"price"})  # at the time of the publish
    house.publish_texts([parted_body({"price": 1, "colour": "red"}, known, known)])
    records = read_log(spark, open_log(house.settings.log), stream=False)
    found = look_back(records, schema, Asked.read({"filter": "price = 1 AND colour IS NULL"}))
    assert (found["illegible"], found["total"], found["samples"]) == (0, 1, [{"price": 1, "colour": "red"}])


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"filter": "TRUE", "since": "yesterday"},
        {"filter": "TRUE", "window_seconds": "x"},
        {"filter": "TRUE", "samples": []},
    ],
)
def test_what_is_no_backtest_is_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(PipelineError, match="no backtest"):
        Asked.read(request_)


def test_a_job_whose_process_died_is_taken_again(spark: SparkSession, house: AuctionHouse) -> None:
    house.publish(3)
    id = house.store.backtests.create("", {"filter": "TRUE", "window_seconds": timedelta(hours=1).total_seconds()})
    assert house.store.backtests.claim() is not None
    runner = BacktestRunner(spark, open_log(house.settings.log), house.store)
    try:
        result = answered(house, id).result
    finally:
        runner.stop()
    assert result is not None
    assert (result["total"], result["window_seconds"]) == (3, 3_600.0)
