"""Joins through the whole query: what Spark hands over, and what a backtest makes of the same log."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tamis.eventlog import open_log
from tamis.eventlog.spool import SpoolWriter
from tamis.joins.naive import NaiveJoins
from tamis.service.base.configuration import Settings
from tamis.service.store import Store
from tamis.service.worker.backtests import BacktestRunner
from tamis.service.worker.following import FollowingTable
from tamis.service.worker.joining import joining_of
from tamis.service.worker.matching import Matching
from tamis.service.worker.messages import RefusedSubscription
from tests.service.worker.exchange import ALL_THREE, FORM, PRAISED, SCHEMA, bodies, drawn, kept, shown, subscribed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def none_is_refused(refusal: RefusedSubscription) -> None:
    pytest.fail(str(refusal))


def test_a_query_joins_what_it_lets_through_beside_what_it_matches(spark: SparkSession, tmp_path: Path) -> None:
    settings = Settings(state=tmp_path / "state")
    store = Store.open(settings.store)
    store.schemas.add(FORM)
    texts = {str(subscribed(store, text).number): text for text in (PRAISED, ALL_THREE)}
    plain = subscribed(store, "PER < 50", kind="filter")
    events = drawn(Random(5), 60, 0)
    oracle = NaiveJoins(SCHEMA, texts)
    _, refused = oracle.apply(events)
    spool = SpoolWriter(settings.state / "spool")
    for start in (0, 30):
        part = bodies(events[start : start + 30])
        ids = [f"evt_{start + place}" for place in range(len(part))]
        spool.submit(pa.array(ids), pa.array(part), None).result()
        table = FollowingTable(settings.state / "table", store, none_is_refused)
        joining = joining_of(settings, store, none_is_refused)
        folder, log = settings.state / "checkpoint", open_log(settings.log)
        matching = Matching(spark, log, store, table, folder, lambda _: None, joining=joining)
        try:
            matching.wait_for_all()
        finally:
            matching.stop()
    for number in texts:
        assert kept(store, int(number)) == shown(oracle, number) != {}
    matched = store.notifications.after(plain.number, 0, 1_000)
    cheap = [f"evt_{n}" for n, event in enumerate(events) if event.get("PER", 50) < 50]
    assert [notified.event_id for notified in matched] == cheap
    letters = store.dead_letters.list(None, "event", limit=1_000)
    assert sorted(letter.subject for letter in letters) == sorted(f"evt_{place}" for place in refused)
    _backtested(spark, settings, store, oracle, next(iter(texts)))
    spool.close()
    store.close()


def _backtested(spark: SparkSession, settings: Settings, store: Store, oracle: NaiveJoins, number: str) -> None:
    job = store.backtests.create("", {"filter": PRAISED, "samples": 50})
    runner = BacktestRunner(spark, open_log(settings.log), store)
    try:
        while (found := store.backtests.get(job)) is not None and found.state not in ("done", "failed"):
            runner.check()
    finally:
        runner.stop()
    assert found is not None
    assert found.result is not None, found.error
    due = list(shown(oracle, number).values())
    assert found.result["rows"] == len(due)
    assert sorted(map(str, found.result["samples"])) == sorted(map(str, due))
    changes = sum(len(one.changes or "") > 0 for one in store.notifications.after(int(number), 0, 1_000))
    assert found.result["total"] >= changes > 0
