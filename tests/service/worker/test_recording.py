"""Answers of micro-batches reach the store in order, each once, without what a residual filter turns away."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from tamis.errors import PipelineError
from tamis.pipeline.workers.inputs import VIOLATION
from tamis.service.base.events import PASSED_OVER, parted_body
from tamis.service.store import NewSubscription, Pair, Reached, Store
from tamis.service.worker.recording import Recorder, Residuals

NOW = datetime(2024, 5, 1, tzinfo=UTC)
ANSWER = pa.schema(
    [
        ("offset", pa.int64()),
        ("partition", pa.int32()),
        ("id", pa.string()),
        ("time", pa.timestamp("us", "UTC")),
        ("body", pa.string()),
        ("subscriptions", pa.list_(pa.string())),
        ("violations", pa.list_(VIOLATION)),
    ]
)


def row(offset: int, matched: list[int], wrong: list[str] | None = None, **fields: Any) -> dict[str, Any]:
    violations = None if wrong is None else [dict.fromkeys(VIOLATION.names, "") | {"message": text} for text in wrong]
    told = {"offset": offset, "partition": 0, "id": f"e{offset}", "time": NOW, "body": "{}"}
    return told | fields | {"subscriptions": [str(number) for number in matched], "violations": violations}


def answer(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), ANSWER)


@pytest.fixture
def recorder(any_store: Store) -> Recorder:
    return Recorder(any_store, Residuals(any_store))


def test_events_stand_in_the_order_of_partition_and_offset(any_store: Store, recorder: Recorder) -> None:
    rows = [row(3, [8]), row(1, [9, 7], partition=1), row(2, [7]), row(9, [7], partition=1)]
    recorded = recorder.record("s", 5, answer(*rows))
    first = 5 << 24
    assert any_store.notifications.since(0, recorded.head, 100) == [
        Pair(first, 7),
        Pair(first + 1, 8),
        Pair(first + 2, 7),
        Pair(first + 2, 9),
        Pair(first + 3, 7),
    ]
    events = any_store.notifications.events(range(first, first + 4))
    assert [events[position].id for position in sorted(events)] == ["e2", "e3", "e1", "e9"]
    assert recorded.head == any_store.notifications.head() == first + 3
    assert (recorded.matches, recorded.dead) == (5, 0)


def test_a_batch_that_is_run_again_writes_nothing(any_store: Store, recorder: Recorder) -> None:
    once = answer(row(1, [7]), row(2, [], ["bad"]))
    recorder.record("s", 1, once)
    again = Recorder(any_store, Residuals(any_store)).record("s", 1, once)
    assert any_store.notifications.total(7) == 1
    assert any_store.dead_letters.count() == 1
    assert again.head == any_store.notifications.head()


def test_dead_letters_say_all_that_is_wrong(any_store: Store, recorder: Recorder) -> None:
    recorded = recorder.record("s", 1, answer(row(4, [], ["no price", "no title"], body="{"), row(5, [7])))
    (letter,) = any_store.dead_letters.list(None, "event", 0, 10)
    assert (letter.subject, letter.reason, letter.body) == ("e4", "no price; no title", "{")
    assert (recorded.matches, recorded.dead) == (1, 1)


def test_a_batch_in_which_nothing_happened_is_not_written(store: Store) -> None:
    recorder = Recorder(store, Residuals(store))
    recorder.record("s", 1, answer(row(1, [7])))
    recorded = recorder.record("s", 2, answer())
    assert recorded.head == store.notifications.head() == 1 << 24
    # Had it been marked, this would be taken for a repeat.
    recorder.record("s", 2, answer(row(2, [7])))
    assert store.notifications.total(7) == 2


def test_more_events_than_positions_are_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.service.worker.recording.RANK_BITS", 1)
    with pytest.raises(PipelineError, match="at most 1"):
        Recorder(store, Residuals(store)).record("s", 1, answer(row(1, [7]), row(2, [7])))


def subscribed(store: Store, residual: list[dict[str, Any]] | None) -> int:
    new = NewSubscription(
        owner="",
        text="TRUE",
        filter="TRUE",
        expires=datetime.now(UTC) + timedelta(days=1),
        dialect="cloudevents" if residual else "tamis",
        residual=json.dumps(residual) if residual else None,
    )
    return store.subscriptions.create(new)[0].number


def body(**context: str) -> str:
    return json.dumps({"ce": {"id": "1", "source": "s", "specversion": "1.0", "type": "t"} | context})


def test_residual_filters_look_at_the_events_context(store: Store) -> None:
    red = subscribed(store, [{"exact": {"colour": "red"}}])
    plain = subscribed(store, None)
    recorder = Recorder(store, Residuals(store))
    every = [red, plain]
    rows = [
        row(1, every, body=body(colour="red")),
        row(2, every, body=body(colour="blue")),
        row(3, [red], body=body()),
        row(4, every, body='{"price": 1}'),
    ]
    recorded = recorder.record("s", 1, answer(*rows))
    assert recorded.matches == 4
    assert [one.event_id for one in store.notifications.after(red, 0)] == ["e1"]
    assert [one.event_id for one in store.notifications.after(plain, 0)] == ["e1", "e2", "e4"]
    # An event that only the residual turned away is not kept.
    assert (1 << 24) + 2 not in store.notifications.events([(1 << 24) + 2])


def test_residual_filters_look_at_what_the_schema_had_no_attribute_for_too(store: Store) -> None:
    red = subscribed(store, [{"exact": {"colour": "red"}}])
    known = frozenset({"ce.id", "ce.source", "ce.type"})
    parted = [parted_body(json.loads(body(colour=colour)), known, known) for colour in ("red", "blue")]
    assert PASSED_OVER in parted[0]
    rows = [row(place, [red], body=text) for place, text in enumerate(parted)]
    Recorder(store, Residuals(store)).record("s", 1, answer(*rows))
    assert [one.event_id for one in store.notifications.after(red, 0)] == ["e0"]


def test_a_dead_letter_is_the_event_as_it_was_published(store: Store) -> None:
    parted = parted_body({"price": 1, "colour": {"name": "red"}}, {"price"}, {"price"})
    Recorder(store, Residuals(store)).record("s", 1, answer(row(4, [], ["bad"], body=parted)))
    (letter,) = store.dead_letters.list(None, "event", 0, 10)
    assert json.loads(letter.body) == {"price": 1, "colour": {"name": "red"}}


def test_a_residual_that_changed_is_read_anew(store: Store) -> None:
    red = subscribed(store, [{"exact": {"colour": "red"}}])
    residuals = Residuals(store)
    recorder = Recorder(store, residuals)
    recorder.record("s", 1, answer(row(1, [red], body=body(colour="blue"))))
    assert store.notifications.total(red) == 0
    found = store.subscriptions.by_number([red])[red]
    store.subscriptions.replace(found.id, residual=json.dumps([{"exact": {"colour": "blue"}}]))
    residuals.forget([red])
    recorder.record("s", 2, answer(row(2, [red], body=body(colour="blue"))))
    assert store.notifications.total(red) == 1


def test_a_batch_without_matches_still_moves_a_shared_log(any_store: Store, recorder: Recorder) -> None:
    any_store.progress.take_over(Reached("kafka lots", "", ""), "s")
    reached = Reached("kafka lots", "s", '{"lots":{"0":9}}')
    recorder.record("s", 1, answer(), reached)
    assert any_store.progress.of("kafka lots") == reached


def test_bindings_are_kept_beside_the_matches_that_have_them(any_store: Store, recorder: Recorder) -> None:
    rows = [row(1, [9, 7]), row(2, [7])]
    bound = pa.array([[None, '{"n":3}'], ['{"n":4}']], pa.list_(pa.string()))
    recorded = recorder.record("s", 5, answer(*rows).append_column("bindings", bound))
    first = 5 << 24
    assert any_store.notifications.since(0, recorded.head, 100) == [
        Pair(first, 7, '{"n":3}'),
        Pair(first, 9),
        Pair(first + 1, 7, '{"n":4}'),
    ]
