"""Streams validate, match and deliver: nothing lost, nothing twice, whatever fails, whatever changes meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tamis import pipeline
from tamis.errors import PipelineError
from tamis.testing import FailingSink
from tests.pipeline.auction_day import SCHEMA, compiled, expected, found_pairs, frame, pairs, some_lots, write_lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.spark

LOTS = some_lots(240)


class Day:
    """A folder of lots that fills up, a table of subscriptions, and the files that a stream over them writes."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.table = pipeline.SubscriptionTable.create(folder / "table", compiled())
        self.write_matches: Callable[[DataFrame, int], object] = pipeline.to_files(folder / "matches")
        self.write_dead: Callable[[DataFrame, int], object] = pipeline.to_files(folder / "dead")
        (folder / "lots").mkdir()

    def start(self, **options: Any) -> StreamingQuery:
        return pipeline.stream(
            pipeline.read_json_lines(self.spark, self.folder / "lots", stream=True),
            options.pop("subscriptions", self.table),
            matches=self.write_matches,
            dead_letters=self.write_dead,
            checkpoint=self.folder / "checkpoint",
            json="value",
            **options,
        )

    def run(self, **options: Any) -> None:
        """Everything there is, then stop: the next start resumes from the checkpoint."""
        query = self.start(trigger={"availableNow": True}, **options)
        query.awaitTermination()

    def publish(self, name: str, lots: list[Any]) -> None:
        write_lines(self.folder / "lots", name, lots)

    @property
    def matches(self) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / "matches"))

    @property
    def dead(self) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / "dead"))


@pytest.fixture
def day(spark: SparkSession, tmp_path: Path) -> Iterator[Day]:
    yield Day(spark, tmp_path)
    for query in spark.streams.active:
        query.stop()


BAD_LINES = [
    "not JSON",
    '{"event_type": ["antiques"], "price": 3.0',
    "[1, 2]",
    '{"event_type": ["antiques"], "quantity": 1}',
    '{"event_type": ["antiques"], "price": "dear", "quantity": 1, "period": "XIX"}',
    '{"event_type": ["livestock"], "price": 1.0, "quantity": 1}',
    '{"event_type": ["furniture"], "price": 1.0, "quantity": 1, "furniture_category": "bed", "legs": 4}',
]


def test_matches_are_the_oracles_and_dead_letters_are_complete(day: Day) -> None:
    day.publish("a", [*LOTS[:100], *BAD_LINES, "", *LOTS[100:]])
    day.publish("b", ["   ", *BAD_LINES[:2]])
    day.run()
    assert found_pairs(day.matches) == pairs(expected(LOTS))
    dead = day.dead.collect()
    assert sorted(row["value"] for row in dead) == sorted([*BAD_LINES, *BAD_LINES[:2]])
    assert all(row["reason"] and row["violations"] for row in dead)
    (dear,) = [row for row in dead if "dear" in row["value"]]
    assert dear["violations"][0].asDict() == {
        "attribute": "price",
        "rule": "domain",
        "value": "dear",
        "message": dear["reason"],
    }


def test_a_running_stream_sees_adds_and_removes_from_its_next_batch_on(day: Day) -> None:
    query = day.start(keep=["title"])
    day.publish("before", LOTS[:100])
    query.processAllAvailable()
    change = day.table.change(add={"everything": "price > 0"}, remove=[id for id, _ in pairs_by_id(LOTS[:100])[:3]])
    assert not change.errors
    day.publish("after", LOTS[100:])
    query.processAllAvailable()
    current = {id: day.table.index().text(id) for id in day.table.index().ids().to_pylist()}
    assert found_pairs(day.matches.where("batch = 0")) == pairs(expected(LOTS[:100]))
    assert found_pairs(day.matches.where("batch = 1")) == pairs(expected(LOTS[100:], current))


def test_a_stream_goes_on_from_its_checkpoint_and_repeats_nothing(day: Day) -> None:
    day.publish("first", LOTS[:120])
    day.run()
    day.run()
    day.publish("second", LOTS[120:])
    day.run()
    assert found_pairs(day.matches) == pairs(expected(LOTS))
    assert len({row["notification"] for row in day.matches.collect()}) == len(pairs(expected(LOTS)))


@pytest.mark.parametrize("late", [False, True], ids=["before it writes", "after it wrote"])
def test_a_batch_whose_sink_failed_is_replayed_with_the_version_it_had_first(day: Day, late: bool) -> None:
    seen: list[tuple[int, str]] = []

    def note(rows: DataFrame, batch: int) -> None:
        seen.extend((batch, row["notification"]) for row in rows.collect())

    day.write_matches = FailingSink(note, after=1, late=late)
    day.publish("a", LOTS[:80])
    day.run()
    day.publish("b", LOTS[80:160])
    with pytest.raises(Exception, match=r"failed.*as asked"):
        day.run()
    # The batch that failed must not see what changes before it is run again; the one after it must.
    day.table.change(add={"everything": "price > 0"})
    day.run()
    day.publish("c", LOTS[160:])
    day.run()
    told = [set(), set(), set()]  # type: list[set[str]]
    for batch, notification in seen:
        told[batch].add(notification)
    assert [len(batch) for batch in told] == [
        len(pairs(expected(LOTS[:80]))),
        len(pairs(expected(LOTS[80:160]))),
        len(pairs(expected(LOTS[160:]))) + len(LOTS[160:]),
    ]
    repeats = len(seen) - sum(map(len, told))
    assert repeats == (len(told[1]) if late else 0)


def test_dead_letters_are_not_lost_when_their_sink_fails(day: Day) -> None:
    day.write_dead = FailingSink(day.write_dead, after=0)
    day.publish("a", [*LOTS[:50], *BAD_LINES])
    with pytest.raises(Exception, match="failed, as asked"):
        day.run()
    day.run()
    assert sorted(row["value"] for row in day.dead.collect()) == sorted(BAD_LINES)
    assert found_pairs(day.matches) == pairs(expected(LOTS[:50]))


def test_rows_with_types_go_to_the_dead_letters_too(spark: SparkSession, tmp_path: Path) -> None:
    events = frame(spark, LOTS[:60])
    spoiled = events.selectExpr("*", "hash(title) % 4 = 0 AS bad").selectExpr(
        *(f"`{name}`" for name in events.columns if name != "price"), "IF(bad, double('NaN'), price) AS price"
    )
    spoiled.write.parquet(str(tmp_path / "lots"))
    spoiled = spark.read.parquet(str(tmp_path / "lots"))
    nan = {row["title"] for row in spoiled.where("isnan(price)").collect()}
    assert 0 < len(nan) < 60
    query = pipeline.stream(
        pipeline.read_parquet(spark, tmp_path / "lots", stream=True),
        compiled(),
        matches=pipeline.to_files(tmp_path / "matches", "json"),
        dead_letters=pipeline.to_files(tmp_path / "dead", "json"),
        checkpoint=tmp_path / "checkpoint",
        output="arrays",
        keep=["title"],
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    rows = spark.read.json(str(tmp_path / "matches")).collect()
    good = [lot for lot in LOTS[:60] if lot["title"] not in nan]
    assert {row["title"]: sorted(row["subscriptions"]) for row in rows} == expected(good)
    assert {row["title"] for row in spark.read.json(str(tmp_path / "dead")).collect()} == nan


def test_match_follows_a_table_into_any_sink_of_sparks_own(day: Day) -> None:
    events, _ = pipeline.validate(
        pipeline.read_json_lines(day.spark, day.folder / "lots", stream=True), SCHEMA, json="value"
    )
    matches = pipeline.match(events, day.table, keep=["title"])
    query = matches.writeStream.format("memory").queryName("followed").start()
    day.publish("before", LOTS[:40])
    query.processAllAvailable()
    day.table.change(add={"everything": "price > 0"}, remove=day.table.index().ids().to_pylist())
    day.publish("after", LOTS[40:60])
    query.processAllAvailable()
    assert day.table.streams() == [query.id]
    everything = [(lot["title"], "everything") for lot in LOTS[40:60]]
    assert found_pairs(day.spark.table("followed")) == sorted([*pairs(expected(LOTS[:40])), *everything])


def test_a_stream_of_what_is_none_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    sink = pipeline.to_files(tmp_path)
    with pytest.raises(PipelineError, match="no stream"):
        pipeline.stream(frame(spark, LOTS), compiled(), matches=sink, dead_letters=sink, checkpoint=tmp_path)
    lines = pipeline.read_json_lines(spark, tmp_path, stream=True)
    with pytest.raises(PipelineError, match="no column 'colour' to keep"):
        pipeline.stream(
            lines, compiled(), matches=sink, dead_letters=sink, checkpoint=tmp_path, json="value", keep=["colour"]
        )


def pairs_by_id(lots: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Matches as (id, title): the ids that do match something come first to hand."""
    return sorted((id, title) for title, id in pairs(expected(lots)))
