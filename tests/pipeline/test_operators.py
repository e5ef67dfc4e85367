"""Filters that call operators on Spark: matched as in this process, loaded once, reported, and ordered better later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
from tamis import Index, pipeline
from tamis.errors import PipelineError
from tamis.pipeline.table.calling import read_learned
from tests.operators.places import SCHEMA, loc_in, seen, shot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

FILTERS = {
    "crowd": "loc_in('Bronx') AND seen('p', ?people) AND ?people > 2",
    "cars": "loc_in('Queens') AND seen('c', 1)",
    "too many": "seen('p', ?n) AND ?n > capacity",
    "north": "lat > 40.85",
    "empty": "NOT seen('p', 1)",
}
SHOTS = [
    shot(40.6 + (number % 31) / 100, "p" * (number % 6) + "c" * (number % 4) + "x", capacity=number % 5)
    for number in range(240)
]


def compiled(filters: dict[str, str] | None = None, **options: Any) -> Index:
    index = tamis.compile(FILTERS if filters is None else filters, SCHEMA, operators=[loc_in, seen], **options)
    assert not index.errors
    return index


def frame(spark: SparkSession, events: list[dict[str, Any]] = SHOTS, partitions: int = 2) -> DataFrame:
    """The events, each with its number in a column that is no attribute."""
    batch = SCHEMA.to_arrow(events)
    table = pa.Table.from_batches([batch]).append_column("no", pa.array(range(len(events))))
    return spark.createDataFrame(table).repartition(partitions)


def expected(index: Index, events: list[dict[str, Any]] = SHOTS) -> list[tuple[int, str, dict[str, str] | None]]:
    """What the index says in this process: number, subscription, and bindings as texts."""
    found = index.match(events)
    bound = {(one.event, one.subscription): {k: str(v) for k, v in one.variables.items()} for one in found.bindings()}
    return sorted(
        ((number, id, bound.get((number, id))) for number, ids in enumerate(found.to_lists()) for id in ids),
        key=lambda row: row[:2],
    )


def told(matches: DataFrame) -> list[tuple[int, str, dict[str, str] | None]]:
    rows = [(row["no"], row["subscription"], row["bindings"]) for row in matches.collect()]
    return sorted(rows, key=lambda row: row[:2])


def by_value(function: Callable[..., Any], **options: Any) -> Any:
    """An operator that no module has, so that it is sent as it is."""
    return tamis.operator(**options)(function)


@pytest.mark.parametrize("keep", [["no"], None], ids=["narrow", "wide"])
def test_pairs_have_the_bindings_of_each_match(spark: SparkSession, keep: list[str] | None) -> None:
    index = compiled()
    matches = pipeline.match(frame(spark), index, keep=keep)
    assert matches.columns[-2:] == ["subscription", "bindings"]
    assert told(matches) == expected(compiled(matcher="naive"))


def test_arrays_have_bindings_beside_subscriptions_and_numbers_have_none(spark: SparkSession) -> None:
    index = compiled()
    rows = pipeline.match(frame(spark), index, "arrays").collect()
    pairs = [
        (row["no"], id, bound)
        for row in rows
        for id, bound in zip(row["subscriptions"], row["bindings"], strict=True)
    ]  # fmt: skip
    assert sorted(pairs, key=lambda row: row[:2]) == expected(index)
    numbers = pipeline.match(frame(spark), index, "numbers")
    assert "bindings" not in numbers.columns
    ids = pipeline.numbering(index, spark)
    named = [(row["no"], ids[number].as_py()) for row in numbers.collect() for number in row["subscriptions"]]
    assert sorted(named) == [row[:2] for row in expected(index)]


def test_a_plain_index_has_no_bindings_and_reports_nothing(spark: SparkSession) -> None:
    index = tamis.compile({"north": "lat > 40.85"}, SCHEMA)
    assert "bindings" not in pipeline.match(frame(spark), index).columns
    assert "bindings" not in pipeline.match(frame(spark), compiled(), bindings=False).columns
    assert len(index.operators) == 0


def test_what_workers_counted_is_in_the_index_on_the_driver(spark: SparkSession) -> None:
    index = compiled()
    pipeline.match(frame(spark), index).count()
    place, picture = index.operators["loc_in"], index.operators["seen"]
    assert 0 < place.tally.evaluations <= 2 * len(SHOTS)
    assert picture.tally.calls == picture.tally.evaluations > 0
    assert picture.tally.seconds > 0
    assert place.selectivity is not None
    assert 0 < place.selectivity < 1


def test_an_operator_is_prepared_once_a_process_whatever_the_index_and_the_job(
    spark: SparkSession, tmp_path: Path
) -> None:
    notes = tmp_path / "prepared"
    notes.mkdir()

    def load() -> None:
        import os
        import uuid

        (notes / f"{os.getpid()}.{uuid.uuid4().hex}").touch()

    def heavy(lat: float, limit: float) -> bool:
        return lat > limit

    operator = by_value(heavy, prepare=load)
    index = tamis.compile({"a": "heavy(40.7)"}, SCHEMA, operators=[operator])
    pipeline.match(frame(spark), index).count()
    index.add({"b": "heavy(40.8)"})
    assert pipeline.match(frame(spark), index).count() > 0
    processes = Counter(path.name.partition(".")[0] for path in notes.iterdir())
    assert processes
    assert set(processes.values()) == {1}


def test_what_fails_in_a_worker_is_unknown_there_and_is_told(spark: SparkSession) -> None:
    def picky(capacity: int) -> bool:
        if capacity == 3:
            raise ValueError("three is too many")
        return capacity == 4

    def stuck(capacity: int) -> bool:
        import time

        while capacity == 1:
            time.sleep(0.01)
        return True

    def unready(lat: float) -> bool:
        return True

    def never() -> None:
        raise RuntimeError("no such model")

    operators = [by_value(picky), by_value(stuck, time_limit=0.3), by_value(unready, prepare=never)]
    filters = {"four": "picky()", "not four": "NOT picky()", "free": "stuck()", "ready": "unready()", "all": "lat > 0"}
    index = tamis.compile(filters, SCHEMA, operators=operators)
    few = [shot(40.7, capacity=number) for number in range(5)]
    found = [(row["no"], row["subscription"]) for row in pipeline.match(frame(spark, few, 1), index).collect()]
    want = [(4, "four"), *((n, "not four") for n in (0, 1, 2)), *((n, "free") for n in (0, 2, 3, 4))]
    assert sorted(found) == sorted([*want, *((n, "all") for n in range(5))])
    assert index.operators["picky"].tally.failures == 1
    assert "three is too many" in index.operators["picky"].tally.last_failure
    assert index.operators["stuck"].tally.timeouts == 1
    assert "no such model" in index.operators["unready"].tally.last_failure


def test_workers_await_coroutines_and_cancel_them_at_their_limit(spark: SparkSession) -> None:
    import asyncio

    async def north(lat: float, of: float) -> bool:
        await asyncio.sleep(0.001)
        return lat > of

    async def stuck(lat: float, capacity: int) -> bool:
        await asyncio.sleep(60 if capacity == 1 else 0)
        return True

    operators = [by_value(north), by_value(stuck, time_limit=0.2)]
    filters = {"north": "north(40.75) AND NOT north(40.85)", "free": "stuck()"}
    index = tamis.compile(filters, SCHEMA, operators=operators)
    few = [shot(40.6 + number / 10, capacity=number) for number in range(4)]
    found = [(row["no"], row["subscription"]) for row in pipeline.match(frame(spark, few, 1), index).collect()]
    assert sorted(found) == [(0, "free"), (2, "free"), (2, "north"), (3, "free")]
    assert index.operators["stuck"].tally.timeouts == 1
    assert index.operators["north"].tally.unknown == 0


def test_what_cannot_be_sent_is_said_before_anything_runs(spark: SparkSession) -> None:
    import threading

    lock = threading.Lock()

    def locked(lat: float) -> bool:
        return lock.acquire(blocking=False)

    index = tamis.compile({"a": "locked()"}, SCHEMA, operators=[by_value(locked)])
    with pytest.raises(PipelineError, match=r"operator locked cannot be sent to workers.*prepare="):
        pipeline.match(frame(spark), index)


RARE = {f"rare {number}": f"often({number}, 1) AND often({number}, 2) AND often({number}, 3)" for number in range(8)}


def often(capacity: int, salt: int, which: int) -> bool:
    """Holds always, but for one of three, which hardly ever does."""
    return which != 1 + salt % 3 or (capacity * 7 + salt) % 50 == 0


@pytest.mark.parametrize("schedule", ["sub-order", "adaptive"])
def test_later_batches_spend_less_by_what_earlier_ones_taught(
    spark: SparkSession, schedule: str, tmp_path: Path
) -> None:
    """Every predicate is believed to hold as often as not, and nothing says beforehand which ones do not."""
    table = pipeline.SubscriptionTable.create(
        tmp_path / "table", tamis.compile(RARE, SCHEMA, operators=[by_value(often, cost=1.0)], schedule=schedule)
    )
    spent: list[int] = []

    def count(rows: DataFrame, batch: int) -> None:
        before = sum(spent)
        assert rows.count() == 16
        spent.append(table.operators["often"].tally.evaluations - before)

    events = [shot(40.7, capacity=number) for number in range(400)]
    for batch in range(4):
        part = frame(spark, events[100 * batch : 100 * batch + 100], 1)
        part.write.parquet(str(tmp_path / "in" / str(batch)))
    source = spark.readStream.schema(part.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in" / "*"))
    pipeline.stream(
        source,
        table,
        matches=count,
        dead_letters=pipeline.to_files(tmp_path / "dead"),
        checkpoint=tmp_path / "checkpoint",
        trigger={"availableNow": True},
    ).awaitTermination()
    assert len(spent) == 4
    # All the first 64 events are asked about in the order that was planned without knowing anything.
    assert spent[0] > 1_150
    assert all(later <= 850 for later in spent[1:]), spent


def test_a_new_process_starts_from_what_was_learned(spark: SparkSession, tmp_path: Path) -> None:
    operators = [by_value(often, cost=1.0)]
    tamis.compile(RARE, SCHEMA, operators=operators, schedule="sub-order").save(tmp_path / "index")
    events = [shot(40.7, capacity=number) for number in range(200)]
    assert pipeline.match(frame(spark, events), tmp_path / "index", operators=operators).count() == 32
    assert (tmp_path / "index" / "learned.arrow").exists()
    events = events[:64]  # of more, a process learns from the first ones
    fresh = Index.open(tmp_path / "index", operators=operators)
    fresh.match(events)
    unlearned = fresh.operators["often"].tally.evaluations
    fresh = Index.open(tmp_path / "index", operators=operators)
    assert fresh.calling is not None
    fresh.calling.start_from(read_learned(tmp_path / "index" / "learned.arrow"))
    fresh.match(events)
    assert fresh.operators["often"].tally.evaluations < 0.6 * unlearned


@pytest.mark.parametrize("schedule", ["sub-order", "adaptive"])
def test_a_worker_plans_anew_by_what_it_learns_within_a_job(spark: SparkSession, schedule: str) -> None:
    """Nothing is told to it meanwhile: the file of what was learned is written when the job is done."""
    index = tamis.compile(RARE, SCHEMA, operators=[by_value(often, cost=1.0)], schedule=schedule)
    events = [shot(40.7, capacity=number) for number in range(600)]
    assert pipeline.match(frame(spark, events, 1), index).count() == 96
    assert 16 * 64 < index.operators["often"].tally.evaluations < 17 * 64 + 8.8 * 536


def test_subscriptions_are_compiled_by_workers_and_variables_keep_their_names(spark: SparkSession) -> None:
    filters = {f"n{k}": f"seen('p', ?v{k % 7}) AND ?v{k % 7} > {k % 4}" for k in range(40)}
    filters |= {"plain": "lat > 40.8", "bad": "seen('p', ?v) AND ?w > 1", "unknown": "sen('p', 1)"}
    table = spark.createDataFrame(pa.table({"id": list(filters), "filter": list(filters.values())})).repartition(2)
    index, refused = pipeline.compile(table, SCHEMA, operators=[loc_in, seen])
    assert {row["id"] for row in refused.collect()} == {"bad", "unknown"}
    good = {id: text for id, text in filters.items() if id not in ("bad", "unknown")}
    assert expected(index) == expected(compiled(good))


def test_shards_call_operators_too(spark: SparkSession, tmp_path: Path) -> None:
    cut = pipeline.shard(compiled(), tmp_path / "shards", 3)
    assert told(pipeline.match(frame(spark), cut.shards)) == expected(compiled())
    assert cut.shards.operators["seen"].tally.evaluations > 0
    again = pipeline.Shards.open(tmp_path / "shards", operators=[loc_in, seen])
    assert told(pipeline.match(frame(spark), again, keep=["no"])) == expected(compiled())
    texts = spark.createDataFrame(pa.table({"id": list(FILTERS), "filter": list(FILTERS.values())}))
    other = pipeline.shard(texts, tmp_path / "more", 2, SCHEMA, operators=[loc_in, seen])
    assert told(pipeline.match(frame(spark), other.shards)) == expected(compiled())


def test_a_backtest_counts_what_operators_find(spark: SparkSession) -> None:
    found = pipeline.backtest(frame(spark), FILTERS, SCHEMA, operators=[loc_in, seen])
    counted = {row["subscription"]: row["matches"] for row in found.totals.collect()}
    found.close()
    assert counted == Counter(id for _, id, _ in expected(compiled()))


def test_a_table_changes_and_a_stream_follows_with_operators(spark: SparkSession, tmp_path: Path) -> None:
    frame(spark, SHOTS[:120], 1).write.parquet(str(tmp_path / "in" / "a"))
    table = pipeline.SubscriptionTable.create(tmp_path / "table", compiled())
    source = spark.read.parquet(str(tmp_path / "in" / "a"))

    def run() -> None:
        events = spark.readStream.schema(source.schema).parquet(str(tmp_path / "in" / "*"))
        pipeline.stream(
            events,
            table,
            matches=pipeline.to_files(tmp_path / "out"),
            dead_letters=pipeline.to_files(tmp_path / "dead"),
            checkpoint=tmp_path / "checkpoint",
            keep=["no"],
            trigger={"availableNow": True},
        ).awaitTermination()

    run()
    refused = table.change(add={"crowd": "seen('p', ?m) AND ?m = 5", "odd": "sen('p', 1)"}, remove=["cars"])
    assert [id for id, _ in refused.errors] == ["odd"]
    frame(spark, SHOTS[120:], 1).write.parquet(str(tmp_path / "in" / "b"))
    run()
    rows = spark.read.parquet(str(tmp_path / "out"))
    later = {**FILTERS, "crowd": "seen('p', ?m) AND ?m = 5"}
    del later["cars"]
    assert told(rows.where("batch = 0")) == expected(compiled(), SHOTS[:120])
    assert told(rows.where("batch = 1")) == expected(compiled(later), SHOTS[120:])
    assert table.operators["seen"].tally.evaluations > 0
    reopened = pipeline.SubscriptionTable(tmp_path / "table", operators=[loc_in, seen])
    assert "crowd" in reopened
    table.fold()
    assert told(pipeline.match(frame(spark), table)) == expected(compiled(later))


def test_a_stream_that_follows_a_table_from_the_workers_calls_operators(spark: SparkSession, tmp_path: Path) -> None:
    frame(spark, SHOTS, 1).write.parquet(str(tmp_path / "in"))
    table = pipeline.SubscriptionTable.create(tmp_path / "table", compiled())
    table.change(remove=["cars"])
    source = spark.readStream.schema(spark.read.parquet(str(tmp_path / "in")).schema).parquet(str(tmp_path / "in"))
    matches = pipeline.match(source, table, keep=["no"])
    query = matches.writeStream.format("memory").queryName("following").trigger(availableNow=True).start()
    query.awaitTermination()
    left = {id: text for id, text in FILTERS.items() if id != "cars"}
    assert told(spark.table("following")) == expected(compiled(left))
    assert table.operators["loc_in"].tally.evaluations > 0


def test_operators_are_sent_by_the_name_that_a_package_offers_them_under(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    from tamis.operators import registry
    from tamis.pipeline.table.calling import Packed

    entry = EntryPoint("seen", "tests.operators.places:seen", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group, name=None: [entry] if name in (None, "seen") else [])
    offered = tamis.operator(cost=3.0)(seen.function)
    assert Packed.of(offered).content
    monkeypatch.setattr("tests.operators.places.seen", offered)
    fresh = offered.with_cost(4.0)
    monkeypatch.setattr("tests.operators.places.seen", fresh)
    packed = Packed.of(fresh)
    assert not packed.content
    assert packed.operator() is fresh
