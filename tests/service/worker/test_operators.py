"""Operators in the pipeline process: matches with bindings, what was counted, and tables when the offer changes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tamis.eventlog.spool import SpoolWriter
from tamis.operators.health import Tally
from tamis.service.base.configuration import Settings
from tamis.service.base.offering import Offering
from tamis.service.store import NewSubscription, Store
from tamis.service.worker import Fared, Supervisor
from tamis.service.worker.following import FollowingTable
from tamis.service.worker.messages import Operators, RefusedSubscription, noticed, read, written
from tests.service.city import ALL, CITY, OPERATORS, shot
from tests.service.worker.auction_house import LATER

ROOT = Path(__file__).resolve().parents[3]
CROWD = "loc_in('Bronx') AND mob_pattern(?people) AND ?people > 3"


@pytest.fixture
def city(store: Store) -> Store:
    store.schemas.add(CITY)
    return store


def _subscribed(store: Store, text: str) -> int:
    new = NewSubscription(owner="", text=text, filter=text, expires=LATER, kind="operator")
    return store.subscriptions.create(new)[0].number


def test_a_table_takes_what_calls_the_operators_that_are_offered(city: Store, tmp_path: Path) -> None:
    _subscribed(city, CROWD)
    refused: list[RefusedSubscription] = []
    table = FollowingTable(tmp_path / "table", city, refused.append, Offering(ALL))
    _subscribed(city, "mob_pattern(3)")
    snapshot = table.for_batch("s", 0)
    assert (refused, len(table._table)) == ([], 2)
    assert snapshot.crew is not None
    assert [operator.name for operator in snapshot.crew.unpacked()] == [operator.name for operator in ALL]


def test_what_waits_for_an_operator_is_matched_once_that_is_offered(city: Store, tmp_path: Path) -> None:
    number = _subscribed(city, CROWD)
    refused: list[RefusedSubscription] = []
    table = FollowingTable(tmp_path / "table", city, refused.append, Offering(ALL[:1]))
    assert len(table._table) == 0
    assert [one.subscription for one in refused] == [number]
    assert "no operator mob_pattern" in refused[0].reason
    again = FollowingTable(tmp_path / "table", city, refused.append, Offering(ALL))
    assert (len(again._table), len(refused)) == (1, 1)


def test_the_same_offer_goes_on_with_the_same_table_and_a_new_version_builds_another(
    city: Store, tmp_path: Path
) -> None:
    _subscribed(city, CROWD)
    first = FollowingTable(tmp_path / "table", city, lambda _: None, Offering(ALL))
    built = first._table.path.stat().st_ino
    assert FollowingTable(tmp_path / "table", city, lambda _: None, Offering(ALL))._table.path.stat().st_ino == built
    newer = [replace(operator, version="9") for operator in ALL]
    table = FollowingTable(tmp_path / "table", city, lambda _: None, Offering(newer))
    assert (table._table.path.stat().st_ino != built, len(table._table)) == (True, 1)


def test_what_an_operator_fared_is_told_in_a_line() -> None:
    fared = Fared(Tally(calls=3, evaluations=9, last_failure="é\nno"), 1.5, None, 2, True)
    line = written(Operators({"mob_pattern": fared.to_dict()}))
    heard = read(line)
    assert line.count(b"\n") == 1
    assert isinstance(heard, Operators)
    assert Fared.from_dict(heard.operators["mob_pattern"]) == fared


def test_an_operator_that_workers_leave_alone_is_suspended() -> None:
    before = {"a": Fared(Tally(suspended=3)), "b": Fared(Tally(suspended=3))}
    now = {"a": Fared(Tally(suspended=5)), "b": Fared(Tally(suspended=3)), "c": Fared(Tally(suspended=1))}
    assert [one.suspended for one in noticed(now, before).values()] == [True, False, True]


def test_counts_are_summed_over_the_lives_of_the_process(tmp_path: Path) -> None:
    supervisor = Supervisor(Settings(state=tmp_path))
    told = Operators({"a": Fared(Tally(calls=2, last_failure="first"), 1.0).to_dict()})
    supervisor._heard(told)
    supervisor._heard(Operators({"a": Fared(Tally(calls=5), 2.0).to_dict()}))
    assert supervisor.status().operators["a"].tally.calls == 5
    supervisor._counted = {name: one.tally for name, one in supervisor.status().operators.items()}
    supervisor._heard(told)
    assert supervisor.status().operators["a"] == Fared(Tally(calls=7, last_failure="first"), 1.0)


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operators are in the tests, which the process and its workers must find."""
    pytest.importorskip("pyspark", reason="the Spark extra is not installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("importable")
def test_matches_have_their_bindings_and_counts_reach_the_service(tmp_path: Path) -> None:
    settings = Settings(state=tmp_path / "state", operators=OPERATORS)
    settings.state.mkdir()
    store, spool = Store.open(settings.store), SpoolWriter(settings.state / "spool")
    store.schemas.add(CITY)
    crowd, failing = _subscribed(store, CROWD), _subscribed(store, "broken('x') OR price < 3")
    events = [shot(57), shot(2), shot(9, "Queens"), shot(5, price=1.0)]
    ids = [f"evt_{place}" for place in range(len(events))]
    spool.submit(pa.array(ids), pa.array(map(json.dumps, events)), None).result()
    supervisor = asyncio.run(_until(settings, lambda status: status.operators.get("broken", _NONE).tally.failures >= 3))
    found = {(one.event_id, one.bindings) for one in store.notifications.after(crowd, 0)}
    assert found == {("evt_0", '{"people": 57}'), ("evt_3", '{"people": 5}')}
    assert [(one.event_id, one.bindings) for one in store.notifications.after(failing, 0)] == [("evt_3", None)]
    fared = supervisor.status().operators
    assert fared["loc_in"].tally.evaluations == 4
    assert fared["mob_pattern"].tally.evaluations == 3, "not asked where the place says no"
    assert "ValueError" in fared["broken"].tally.last_failure
    spool.close()
    store.close()


_NONE = Fared(Tally())


async def _until(settings: Settings, done: Callable[..., bool]) -> Supervisor:
    supervisor = Supervisor(settings)
    await supervisor.start()
    try:
        async with asyncio.timeout(240):
            while not done(supervisor.status()):
                assert supervisor.status().restarts == 0, supervisor.status()
                await asyncio.sleep(0.1)
    finally:
        await supervisor.stop()
    return supervisor
