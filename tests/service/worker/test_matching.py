"""The query over the event log: what the store ends up with is the oracle's, each pair once, whatever fails between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tamis.eventlog import open_log
from tamis.service.store import Reached
from tamis.service.worker.following import FollowingTable
from tamis.service.worker.matching import Matching
from tamis.service.worker.messages import Batch, Noticed, RefusedSubscription
from tamis.service.worker.recording import Recorded, Recorder
from tamis.testing import reference_matches
from tamis.workloads.auction_lots import auction_schema
from tests.service.worker.auction_house import AuctionHouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def none_is_refused(refusal: RefusedSubscription) -> None:
    pytest.fail(str(refusal))


class Open(AuctionHouse):
    """An auction house with its query."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        super().__init__(folder, subscriptions=200)
        self.spark = spark
        self.told: list[Batch] = []
        self.noticed: list[str] = []
        self.busy: list[float] = []
        self.matching: Matching | None = None

    def start(self) -> Matching:
        """As a new process would, from what is on disk."""
        state = self.settings.state
        table = FollowingTable(state / "table", self.store, none_is_refused)
        log = open_log(self.settings.log)
        self.matching = Matching(self.spark, log, self.store, table, state / "checkpoint", self.hear)
        return self.matching

    def hear(self, message: Batch | Noticed) -> None:
        if isinstance(message, Noticed):
            self.noticed.append(message.noticed)
            return
        self.told.append(message)
        if self.matching is not None:
            self.busy.append(self.matching.busy())

    def run(self) -> None:
        """Until everything published is matched, and then no longer."""
        matching = self.start()
        try:
            matching.wait_for_all()
        finally:
            matching.stop()
            self.matching = None

    def close(self) -> None:
        if self.matching is not None:
            self.matching.stop()
        super().close()


@pytest.fixture
def house(spark: SparkSession, tmp_path: Path) -> Iterator[Open]:
    opened = Open(spark, tmp_path / "state")
    yield opened
    opened.close()


def test_the_store_has_the_oracles_matches_and_the_dead_letters(house: Open) -> None:
    house.publish(150)
    house.publish_texts(['{"event_type": "antiques"}', "not JSON"])
    house.run()
    assert house.notified == house.due != {}
    letters = house.store.dead_letters.list(None, "event", 0, 10)
    assert sorted(letter.body for letter in letters) == ["not JSON", '{"event_type": "antiques"}']
    assert all(letter.reason for letter in letters)
    assert sum(batch.events for batch in house.told) == 152
    assert sum(batch.matches for batch in house.told) == house.due.total()
    assert sum(batch.dead for batch in house.told) == 2
    assert house.told[-1].head == house.store.notifications.head()
    assert house.told[-1].lag_events == 0
    assert house.told[-1].revision == house.store.subscriptions.revision


def test_how_long_a_batch_has_been_running_can_be_asked(house: Open) -> None:
    matching = house.start()
    house.publish(20)
    matching.wait_for_all()
    assert any(seconds > 0 for seconds in house.busy), "asked while it ran"
    assert matching.busy() == 0


@pytest.mark.parametrize("damaged", ["offsets", "metadata", "stream.json"])
def test_a_damaged_checkpoint_loses_no_event(house: Open, damaged: str) -> None:
    house.publish(30)
    house.run()
    checkpoint = house.settings.state / "checkpoint"
    if damaged == "offsets":
        newest = max(int(path.name) for path in (checkpoint / "offsets").glob("[0-9]*"))
        for folder in ("offsets", "commits"):
            (checkpoint / folder / str(newest)).write_text("")
    else:
        (checkpoint / damaged).write_text('{"x')
    house.publish(20)
    house.run()
    assert set(house.notified) == set(house.due)
    assert len(house.noticed) == 1
    assert house.noticed[0].startswith("the checkpoint is damaged: ")


def test_an_event_meets_exactly_the_subscriptions_acknowledged_before_it(house: Open) -> None:
    matching = house.start()
    house.publish(20)
    for _ in range(3):
        matching.wait_for_all()
        # Published and subscribed without a pause, while batches run.
        everything = house.subscribe("price > 0")
        house.publish(10)
        matching.wait_for_all()
        house.cancel(everything)
        house.publish(10)
    matching.wait_for_all()
    assert house.notified == house.due


@pytest.mark.parametrize("late", [False, True], ids=["before it recorded", "after it recorded"])
def test_a_batch_that_failed_is_run_again_and_nothing_is_lost_or_doubled(
    house: Open, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.publish(30)
    house.run()
    failing = [True]
    record = Recorder.record

    def fail_once(
        self: Recorder, stream: str, batch: int, answer: pa.Table, reached: Reached | None = None
    ) -> Recorded:
        if failing and not late:
            failing.clear()
            raise RuntimeError("failed, as asked")
        recorded = record(self, stream, batch, answer, reached)
        if failing:
            failing.clear()
            raise RuntimeError("failed, as asked")
        return recorded

    monkeypatch.setattr(Recorder, "record", fail_once)
    house.publish(30)
    with pytest.raises(Exception, match="failed, as asked"):
        house.run()
    assert (house.notified == house.due) is late
    house.publish(30)
    house.run()
    assert house.notified == house.due
    house.run()
    assert house.notified == house.due


def test_positions_grow_even_if_the_checkpoint_was_deleted(house: Open) -> None:
    import shutil

    house.publish(30)
    house.run()
    head = house.store.notifications.head()
    shutil.rmtree(house.settings.state / "checkpoint")
    house.run()
    repeated = house.store.notifications.since(head, house.store.notifications.head(), 100_000)
    assert len(repeated) == house.due.total()


def test_a_checkpoint_that_lost_its_last_files_is_mended(house: Open) -> None:
    house.publish(30)
    house.run()
    house.publish(30)
    house.run()
    checkpoint = house.settings.state / "checkpoint"
    # As after a power cut: the commit was not on disk yet, and the next plan only as an empty file.
    newest = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdecimal())
    (checkpoint / "commits" / str(newest)).write_bytes(b"")
    (checkpoint / "offsets" / str(newest + 1)).write_bytes(b"")
    house.publish(30)
    house.run()
    assert house.notified == house.due


def test_the_schema_grows_while_the_query_runs(house: Open) -> None:
    matching = house.start()
    house.publish(20)
    matching.wait_for_all()
    wider = auction_schema().extend(attributes={"colour": "string"}, optional={"furniture": {"colour": "optional"}})
    house.store.schemas.add(wider.to_dict())
    red = house.subscribe("colour = 'red'")
    chair: dict[str, Any] = {
        "event_type": "furniture",
        "price": 20.0,
        "quantity": 4,
        "furniture_category": "chair",
        "colour": "red",
    }
    (id,) = house.publish_texts([json.dumps(chair)])
    matching.wait_for_all()
    filters = {str(number): text for number, text in house.subscribed.items()}
    (expected,) = reference_matches(filters, wider, [chair])
    assert {number for event, number in house.notified if event == id} == set(map(int, expected))
    assert str(red.number) in expected
    matching.check()


def test_a_query_that_ended_is_noticed(house: Open) -> None:
    matching = house.start()
    matching.check()
    matching.stop()
    house.matching = None
    with pytest.raises(Exception, match="ended"):
        matching.check()
