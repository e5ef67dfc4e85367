"""The made-up event is a real one, and trying out leaves nothing behind."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tamis.eventlog import open_log
from tamis.pipeline.workers.rehearsal import rehearse
from tamis.schema import Schema
from tamis.service.base.offering import serving_schema
from tamis.service.worker.following import FollowingTable
from tamis.service.worker.matching import made_up_event, try_out
from tamis.service.worker.spark import warm
from tamis.workloads.auction_lots import auction_schema
from tests.service.worker.auction_house import AuctionHouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_KIND = {
    "domains": {
        "period": {"type": "enumerated", "values": ["XVI", "XVII"]},
        "furniture": {"type": "hierarchical", "tree": {"bedroom": {"bed": {}}}},
    },
    "attributes": {
        "n": "integer",
        "x": "float",
        "s.t": "string",
        "b": "boolean",
        "t": "timestamp",
        "p": "period",
        "f": "furniture",
    },
    "event_types": {"all": {name: ["mandatory", "multiple"] for name in ("n", "x", "s.t", "b", "t", "p", "f")}},
}


@pytest.mark.parametrize("schema", [None, auction_schema(), Schema.from_dict(EVERY_KIND)])
def test_the_made_up_event_is_valid(schema: Schema | None) -> None:
    served = serving_schema(schema)
    served.validate(made_up_event(served))


def test_everything_that_matching_does_can_be_rehearsed() -> None:
    rehearse()


@pytest.mark.spark
def test_workers_are_started_beforehand(spark: SparkSession) -> None:
    warm(spark)


@pytest.mark.spark
def test_nothing_is_left_of_it(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    house = AuctionHouse(tmp_path / "state", subscriptions=20)
    try:
        house.publish(3)
        state = house.settings.state
        table = FollowingTable(state / "table", house.store, lambda refusal: pytest.fail(str(refusal)))
        files = sorted(islice(state.rglob("*"), 1_000))
        try_out(spark, open_log(house.settings.log), table.newest())
        assert sorted(islice(state.rglob("*"), 1_000)) == files
        assert house.notified == {}
        assert "Traceback" not in capfd.readouterr().err
    finally:
        house.close()
