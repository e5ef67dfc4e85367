"""Operators that fail, hang, or have nothing to read: unknown for that event, counted by name, no harm to others."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.operators import caller as preparing
from tamis.operators.health import Health, Tally
from tests.operators.places import SCHEMA, loc_in, shot


@tamis.operator
def brittle(lat: float, limit: float) -> bool:
    if lat > limit:
        raise ValueError(f"{lat} is too far north")
    return True


def test_an_exception_makes_the_predicate_unknown_for_that_event_alone() -> None:
    filters = {"yes": "brittle(40.5)", "no": "NOT brittle(40.5)", "either": "brittle(40.5) OR loc_in('Bronx')"}
    index = tamis.compile(filters, SCHEMA, operators=[brittle, loc_in])
    found = index.match([shot(40.0), shot(40.85), shot(40.4)])
    assert [sorted(ids) for ids in found.to_lists()] == [["either", "yes"], ["either"], ["either", "yes"]]
    tally = index.operators["brittle"].tally
    assert (tally.evaluations, tally.held, tally.unknown, tally.failures) == (3, 2, 1, 1)
    assert tally.last_failure == "brittle(40.5): ValueError: 40.85 is too far north"
    assert "1 failed (last: brittle(40.5)" in str(index.operators)


def test_what_a_function_returns_by_mistake_is_a_failure_too() -> None:
    @tamis.operator
    def odd(lat: float) -> Any:
        return "yes"

    index = tamis.compile({"s": "odd()", "t": "NOT odd()"}, SCHEMA, operators=[odd])
    assert index.match([shot(40.0)]).to_lists() == [[]]
    assert "return True or False" in index.operators["odd"].tally.last_failure


def test_a_function_that_changes_the_event_it_was_given_changes_it_for_no_other() -> None:
    schema = tamis.Schema.from_dict(
        {"attributes": {"n": "integer"}, "event_types": {"e": {"n": ["optional", "multiple"]}}}
    )

    @tamis.operator
    def longer(event: dict[str, Any], count: int) -> bool:
        event["n"].append(0)
        return len(event.pop("n")) == count

    index = tamis.compile({f"s{k}": f"longer({k})" for k in (1, 2, 3, 4)}, schema, operators=[longer])
    assert index.match([{"n": [7]}]).to_lists() == [["s2"]]


def test_an_operator_is_not_called_where_it_has_nothing_to_read() -> None:
    asked: list[bytes] = []

    @tamis.operator
    def dark(image: bytes) -> bool:
        asked.append(image)
        return image == b"dark"

    index = tamis.compile({"s": "dark()", "t": "NOT dark()"}, SCHEMA, operators=[dark])
    assert index.match([shot(40.0), shot(40.0, "dark"), shot(40.0, "light")]).to_lists() == [[], ["s"], ["t"]]
    assert asked == [b"dark", b"light"]
    assert index.operators["dark"].tally.absent == 1


def test_one_bad_row_does_not_spoil_a_batch() -> None:
    sizes: list[int] = []

    @tamis.operator(batch=True)
    def north(lat: pa.Array) -> Any:
        sizes.append(len(lat))
        if any(value > 50 for value in lat.to_pylist()):
            raise ValueError("there is no such city")
        return [value > 40.7 for value in lat.to_pylist()]

    index = tamis.compile({"s": "north()"}, SCHEMA, operators=[north])
    assert index.match([shot(40.8), shot(51.0), shot(40.6)]).to_lists() == [["s"], [], []]
    assert sizes == [3, 1, 1, 1]
    assert index.operators["north"].tally.failures == 1
    assert index.match([shot(40.8), shot(40.9)]).to_lists() == [["s"], ["s"]]
    assert sizes[4:] == [2]


class Hanging:
    """An operator that hangs where the picture says so, until it is let go."""

    def __init__(self, batch: bool = False) -> None:
        self.go = threading.Event()
        self.calls = 0

        @tamis.operator(time_limit=0.05, batch=batch)
        def seen(image: Any) -> Any:
            self.calls += 1
            images = image.to_pylist() if batch else [image]
            if b"hang" in images:
                self.go.wait(60)
            return [one != b"no" for one in images] if batch else images[0] != b"no"

        self.operator = seen


@pytest.mark.parametrize("batch", [False, True])
def test_a_call_that_hangs_is_given_up(batch: bool) -> None:
    hanging = Hanging(batch)
    index = tamis.compile({"s": "seen()", "t": "NOT seen()"}, SCHEMA, operators=[hanging.operator])
    events = [shot(40.0, "yes"), shot(40.0, "hang"), shot(40.0, "no"), shot(40.0, "yes")]
    try:
        assert index.match(events).to_lists() == [["s"], [], ["t"], ["s"]]
    finally:
        hanging.go.set()
    tally = index.operators["seen"].tally
    assert (tally.timeouts, tally.failures, tally.unknown) == (1, 0, 1)
    assert "took longer than its time limit" in tally.last_failure


def test_an_operator_that_keeps_hanging_is_left_alone_for_a_while() -> None:
    hanging = Hanging()
    index = tamis.compile({"s": "seen()", "p": "lat < 50"}, SCHEMA, operators=[hanging.operator])
    clock = [0.0]
    index.calling.health.clock = lambda: clock[0]  # type: ignore[union-attr]
    try:
        assert index.match([shot(40.0, "hang")] * 6).to_lists() == [["p"]] * 6
        about = index.operators["seen"]
        assert about.suspended
        assert (hanging.calls, about.tally.timeouts, about.tally.suspended) == (3, 3, 3)
        assert "suspended" in str(about)
        assert index.match([shot(40.0, "yes")]).to_lists() == [["p"]]
        clock[0] += 61
        assert index.match([shot(40.0, "yes")]).to_lists() == [["p", "s"]]
        assert not index.operators["seen"].suspended
    finally:
        hanging.go.set()


def test_a_suspension_lasts_longer_each_time() -> None:
    clock = [0.0]
    health = Health(clock=lambda: clock[0])
    for _ in range(3):
        health.came_late("p")
    assert health.is_suspended("p")
    clock[0] = 60.5
    assert not health.is_suspended("p")
    health.came_late("p")  # on probation: once is enough
    clock[0] += 119
    assert health.is_suspended("p")
    clock[0] += 2
    assert not health.is_suspended("p")
    health.came_in_time("p")
    health.came_late("p")
    assert not health.is_suspended("p")


def test_an_operator_is_prepared_once_and_outside_its_time() -> None:
    prepared: list[int] = []

    @tamis.operator(prepare=lambda: prepared.append(1))
    def ready(lat: float) -> bool:
        return len(prepared) == 1

    index = tamis.compile({"s": "ready()"}, SCHEMA, operators=[ready])
    assert prepared == []
    for _ in range(3):
        assert index.match([shot(40.0)]).to_lists() == [["s"]]
    assert prepared == [1]


def test_an_operator_that_cannot_be_prepared_is_unknown() -> None:
    def broken() -> None:
        raise OSError("the model is not there")

    @tamis.operator(prepare=broken)
    def ready(lat: float) -> bool:
        return True

    index = tamis.compile({"s": "ready()", "p": "lat < 50"}, SCHEMA, operators=[ready])
    assert index.match([shot(40.0)]).to_lists() == [["p"]]
    assert "could not be prepared: OSError: the model is not there" in index.operators["ready"].tally.last_failure


def test_an_operator_that_is_not_ready_in_time_is_unknown_until_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    loading, ready = threading.Event(), threading.Event()

    def load() -> None:
        loading.wait(30)
        ready.set()

    @tamis.operator(prepare=load)
    def loaded(lat: float) -> bool:
        return ready.is_set()

    index = tamis.compile({"s": "loaded()", "p": "lat < 50"}, SCHEMA, operators=[loaded])
    monkeypatch.setattr(preparing, "LONGEST", 0.05)
    assert index.match([shot(40.0)]).to_lists() == [["p"]]
    assert "could not be prepared: TimeoutError" in index.operators["loaded"].tally.last_failure
    # Nobody waits for it a second time.
    monkeypatch.setattr(preparing, "LONGEST", 1_000.0)
    assert index.match([shot(40.0)]).to_lists() == [["p"]]
    loading.set()
    assert ready.wait(30)
    for thread in threading.enumerate():
        if thread.name == "tamis-preparing":
            thread.join(30)
    assert index.match([shot(40.0)]).to_lists() == [["p", "s"]]


def test_tallies_add_up() -> None:
    one, two = Tally(calls=1, held=2, seconds=0.5, last_failure="x"), Tally(calls=2, unknown=1)
    both = one + two
    assert (both.calls, both.held, both.unknown, both.seconds, both.last_failure) == (3, 2, 1, 0.5, "x")
    assert both.to_dict()["calls"] == 3
