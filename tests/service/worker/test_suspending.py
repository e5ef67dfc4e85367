"""Suspensions: in the store with a reason, at the desk for the workers, told to the service, and while others wait."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tamis.pipeline.workers.charging import LEFT_OUT
from tamis.service.store import NewSubscription, Store, Subscription
from tamis.service.worker.messages import Suspended, read, written
from tamis.service.worker.recording import Residuals
from tamis.service.worker.suspending import Fairness
from tests.service.worker.auction_house import LATER


class Desk:
    """Workers that report to a fairness with a clock by hand."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.now = 0.0
        self.told: list[Suspended] = []
        self.store = store
        self.fairness = Fairness(store, folder, self.told.append, budget=5.0, patience=2.0, clock=lambda: self.now)

    def report(self, worker: int, **seconds: float) -> None:
        taken = {number.removeprefix("n"): took for number, took in seconds.items()}
        content = json.dumps({"life": f"life {worker}", "seconds": taken})
        (self.fairness.folder / f"taken-{worker}.json").write_text(content)

    def at_the_workers(self) -> list[str]:
        path = self.fairness.folder / LEFT_OUT
        return json.loads(path.read_text()) if path.exists() else []


@pytest.fixture
def desk(store: Store, tmp_path: Path) -> Desk:
    return Desk(store, tmp_path / "desk")


def subscribed(store: Store, owner: str = "a", residual: str | None = None) -> Subscription:
    new = NewSubscription(owner=owner, text="price < 3", filter="price < 3", expires=LATER, residual=residual)
    return store.subscriptions.create(new)[0]


def test_whoever_took_too_much_while_a_batch_is_late_is_suspended_with_the_reason(desk: Desk, store: Store) -> None:
    slow, cheap = subscribed(store), subscribed(store)
    desk.fairness.begin()
    desk.report(1, **{f"n{slow.number}": 2.0, f"n{cheap.number}": 1.5})
    desk.fairness.look()
    desk.report(2, **{f"n{slow.number}": 2.5})
    desk.now = 1.9
    desk.fairness.look()
    assert desk.told == []
    desk.now = 2.0
    desk.fairness.look()
    found = store.subscriptions.get(slow.id)
    assert found is not None
    assert found.state == "suspended"
    assert found.reason is not None
    assert "took 4.5 s of matching" in found.reason
    assert "others of its owner 6.0 s" in found.reason
    assert [one.id for one in desk.told] == [slow.id]
    assert desk.at_the_workers() == [str(slow.number)]
    assert desk.fairness.left_out() == {slow.number}
    assert store.subscriptions.changes(slow.number)[-1].filter is None
    assert store.subscriptions.count("a", "suspended") == 1


def test_where_no_batch_is_late_nobody_is_suspended(desk: Desk, store: Store) -> None:
    slow = subscribed(store)
    desk.fairness.begin()
    desk.report(1, **{f"n{slow.number}": 9.0})
    assert desk.fairness.left_out() == frozenset()
    desk.fairness.end()
    desk.now = 30.0
    desk.fairness.look()
    assert desk.told == []


def test_one_that_was_resumed_is_matched_again_and_begins_anew(desk: Desk, store: Store) -> None:
    slow = subscribed(store)
    desk.fairness.begin()
    desk.report(1, **{f"n{slow.number}": 9.0})
    desk.now = 3.0
    desk.fairness.look()
    resumed = store.subscriptions.replace(slow.id, state="active")
    assert (resumed.state, resumed.reason) == ("active", None)
    desk.fairness.begin()
    desk.now = 6.0
    assert desk.fairness.left_out() == frozenset()
    assert desk.at_the_workers() == []
    assert len(desk.told) == 1


def test_a_batch_that_is_run_again_by_another_process_leaves_out_whoever_is_suspended(desk: Desk, store: Store) -> None:
    slow = subscribed(store)
    store.subscriptions.suspend({slow.number: "too slow"})
    desk.fairness.begin()
    assert desk.fairness.left_out() == {slow.number}
    assert desk.at_the_workers() == [str(slow.number)]
    desk.fairness.begin()
    assert desk.fairness.left_out() == frozenset()
    assert desk.at_the_workers() == []


def test_nobody_pays_for_another_owner(desk: Desk, store: Store) -> None:
    mine, theirs = subscribed(store, "a"), subscribed(store, "b")
    desk.fairness.begin()
    desk.report(1, **{f"n{mine.number}": 4.9, f"n{theirs.number}": 5.1})
    desk.now = 2.0
    assert desk.fairness.left_out() == {theirs.number}


def test_a_suspension_is_a_line_to_the_service() -> None:
    message = Suspended(7, "sub_x", "too\nslow")
    assert read(written(message)) == message


def test_what_an_index_cannot_hold_is_charged_too_and_not_looked_at_after(
    desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    residual = json.dumps([{"sql": "subject LIKE '%a_b%'"}])
    slow = subscribed(store, residual=residual)
    desk.fairness.begin()
    desk.now = 2.0
    looks: list[float] = []
    monkeypatch.setattr("tamis.service.worker.recording.time.thread_time", clock(looks, 3.0))
    bodies = pa.array([json.dumps({"ce": {"subject": "a" * 5_000 + "ab"}})] * 5)
    rows, numbers = np.arange(5), np.full(5, slow.number)
    Residuals(store).hold(bodies, rows, numbers, desk.fairness)
    assert len(looks) == 2 * 2
    assert desk.fairness.left_out() == {slow.number}


def clock(looks: list[float], step: float) -> Callable[[], float]:
    def tell() -> float:
        looks.append(step)
        return step * len(looks)

    return tell
