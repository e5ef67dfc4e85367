"""Streams of changes: tables outlive restarts, batches that fail are run again, subscriptions come and go."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tamis import pipeline
from tamis.errors import PipelineError
from tamis.testing import FailingSink
from tests.pipeline.joining.stock_day import CHAIN, SCHEMA, TEXTS, contents, followed, history, refused, write_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("google.protobuf", reason="Spark's state API needs protobuf")

pytestmark = pytest.mark.spark

EVENTS = history(400, seed=3)
ALL = TEXTS | CHAIN


class Day:
    """A folder of changes that fills up, a table of subscriptions, and what a stream over them tells."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.table = pipeline.SubscriptionTable.create(folder / "table", tamis.compile(ALL, SCHEMA))
        self.told: list[Any] = []
        self.dead: list[Any] = []
        self.changes: Callable[[DataFrame, int], object] = lambda rows, _: self.told.extend(rows.collect())
        (folder / "events").mkdir()

    def publish(self, name: str, events: list[dict[str, Any]]) -> None:
        write_events(self.folder / "events", name, events)

    def run(self, **options: Any) -> None:
        query = pipeline.join_stream(
            pipeline.read_json_lines(self.spark, self.folder / "events", stream=True),
            options.pop("subscriptions", self.table),
            changes=self.changes,
            dead_letters=lambda rows, _: self.dead.extend(rows.collect()),
            checkpoint=self.folder / "checkpoint",
            json="value",
            parts=options.pop("parts", 2),
            trigger={"availableNow": True},
            **options,
        )
        query.awaitTermination()


@pytest.fixture
def day(spark: SparkSession, tmp_path: Path) -> Iterator[Day]:
    yield Day(spark, tmp_path)
    for query in spark.streams.active:
        query.stop()


def test_contents_stay_the_oracles_over_restarts_and_failures(day: Day) -> None:
    day.publish("a", EVENTS[:150])
    day.run()
    assert followed(day.told, ALL) == contents(EVENTS[:150], ALL)
    collect = day.changes
    day.changes = FailingSink(collect, after=0, late=True)
    day.publish("b", [*EVENTS[150:300], {"event_type": ["Stocks"], "Symbol": "S1"}])
    with pytest.raises(Exception, match=r"failed.*as asked"):
        day.run()
    day.changes = collect
    # What comes after the batch that failed is not seen when that is run again.
    added = {"late": "SELECT * FROM Stocks JOIN Reviews USING (Symbol) WHERE Rating >= 2"}
    day.table.change(add=added, remove=["all"])
    day.run()
    assert followed(day.told, ALL) == contents(EVENTS[:300], ALL)
    day.publish("c", EVENTS[300:])
    day.run()
    texts = {id: text for id, text in (ALL | added).items() if id != "all"}
    held = followed(day.told, ALL | added)
    held.pop("all")
    assert held == contents(EVENTS, texts)
    assert not [row for row in day.told if row["subscription"] == "all" and row["batch"] == 2]
    assert {row["change"] for row in day.told if row["subscription"] == "late"} == {"added"}
    assert len(day.dead) == len(refused(EVENTS)) + 1
    day.publish("d", EVENTS[:10])
    with pytest.raises(Exception, match="held in other cells"):
        day.run(parts=3)


def test_what_is_no_stream_or_has_no_tables_is_refused(day: Day) -> None:
    lines = pipeline.read_json_lines(day.spark, day.folder / "events")
    with pytest.raises(PipelineError, match="no stream"):
        pipeline.join_stream(
            lines, day.table, changes=day.changes, dead_letters=day.changes, checkpoint=day.folder / "c", json="value"
        )
    with pytest.raises(PipelineError, match="no join among the subscriptions"):
        pipeline.join(lines, tamis.compile({"s": "PER > 3"}, SCHEMA), json="value")
    with pytest.raises(PipelineError, match="no column 'when' to order"):
        pipeline.join(lines, tamis.compile(ALL, SCHEMA), json="value", order="when")
    with pytest.raises(PipelineError, match="whole numbers or timestamps, and the column 'value' is string"):
        pipeline.join(lines, tamis.compile(ALL, SCHEMA), json="value", order="value")


@pytest.mark.slow
def test_a_process_that_is_killed_in_the_middle_of_a_batch_leaves_nothing_wrong(day: Day) -> None:
    for number in range(4):
        day.publish(f"{number}", EVENTS[number * 100 : number * 100 + 100])
    child = Path(__file__).with_name("killed_child.py")
    died = subprocess.run([sys.executable, str(child), str(day.folder), "2"], check=False, timeout=300)
    assert died.returncode == -signal.SIGKILL
    day.changes = pipeline.to_files(day.folder / "changes", "json")
    day.run()
    told = day.spark.read.json(str(day.folder / "changes")).collect()
    assert {row["batch"] for row in told} == {0, 1, 2, 3}
    assert followed(told, ALL) == contents(EVENTS, ALL)
    assert len({row["notification"] for row in told}) == len(told)
