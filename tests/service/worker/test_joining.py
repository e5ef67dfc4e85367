"""Joins in the pipeline process: contents and notifications are the oracle's, whatever is killed between."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tamis.joins.naive import NaiveJoins
from tamis.language import DEFAULT_LIMITS
from tamis.schema import Schema
from tamis.service.store import Reached, Store, StoreError
from tamis.service.worker.joining import TABLES, Joining
from tamis.service.worker.messages import RefusedSubscription, Suspended
from tamis.service.worker.recording import Recorder, Residuals
from tamis.service.worker.suspending import Fairness
from tests.service.worker.exchange import (
    ALL_THREE,
    FORM,
    LATER,
    PRAISED,
    SCHEMA,
    TRADED,
    bodies,
    drawn,
    kept,
    review,
    shown,
    stock,
    subscribed,
    told,
)
from tests.service.worker.test_recording import answer, row


class Exchange:
    """A store, and the part of the pipeline process that joins: killed and started as often as one likes."""

    def __init__(self, store: Store, rows: int = 1_000, size: int = 1 << 20, fairness: Fairness | None = None) -> None:
        self.store = store
        if store.schemas.current() is None:
            store.schemas.add(FORM)
        self.refused: list[RefusedSubscription] = []
        self._limits = (rows, size)
        self._fairness = fairness
        self._offset = self._batch = 0
        self.start()

    def start(self) -> None:
        """As a new process would, from what is in the store."""
        self.joining = Joining(self.store, self.refused.append, DEFAULT_LIMITS, *self._limits, self._fairness)
        self.joining.take_over()
        self.recorder = Recorder(self.store, Residuals(self.store), self.joining, self._fairness)

    def take(self, *events: dict[str, Any]) -> pa.Table:
        """A batch of events, recorded."""
        return self.record(self.planned(events))

    def planned(self, events: Sequence[dict[str, Any]]) -> pa.Table:
        """A batch as Spark answers it: changes of tables are marked."""
        self._batch += 1
        first, self._offset = self._offset, self._offset + len(events)
        return answer(
            *(
                row(first + place, [] if event["event_type"] == ["News"] else [TABLES], body=body)
                for place, (event, body) in enumerate(zip(events, bodies(events), strict=True))
            )
        )

    def record(self, batch: pa.Table) -> pa.Table:
        self.recorder.record("stream", self._batch, batch)
        return batch


@pytest.fixture
def exchange(store: Store) -> Exchange:
    return Exchange(store)


def test_an_event_tells_what_it_did_to_each_content(store: Store, exchange: Exchange) -> None:
    one = subscribed(store, PRAISED)
    exchange.take(stock("GOOG", 51.5), review("GOOG", "Ann", 7.5), stock("GOOG", 60.0), stock("GOOG", 90.0))
    rows = [{"Symbol": "GOOG", "PER": per, "Analyst": "Ann", "Rating": 7.5} for per in (51.5, 60.0)]
    changes = [json_changes(notified.changes) for notified in store.notifications.after(one.number, 0)]
    assert changes == [[("added", rows[0])], [("removed", rows[0]), ("added", rows[1])], [("removed", rows[1])]]
    assert kept(store, one.number) == {}


def json_changes(text: str | None) -> list[tuple[str, Any]]:
    return [(change["change"], change.get("row")) for change in json.loads(str(text))]


LIKED = "SELECT * FROM Stocks JOIN Reviews USING (Symbol) WHERE Analyst LIKE"
# Found by the q, and then all of it but its end fits at every other place.
SLOW, QUICK = f"{LIKED} '%{'_b' * 400}_q%'", f"{LIKED} '%ab%'"
LONG = "q" + "ab" * 300_000


def test_a_join_whose_pattern_is_slow_is_suspended_and_begins_anew_once_it_is_resumed(
    store: Store, tmp_path: Path
) -> None:
    suspended: list[Suspended] = []
    fairness = Fairness(store, tmp_path / "desk", suspended.append, budget=0.001, patience=0.0)
    exchange = Exchange(store, size=1 << 24, fairness=fairness)
    slow, quick = subscribed(store, SLOW), subscribed(store, QUICK)
    fairness.begin()
    exchange.take(stock("GOOG", 51.5), review("GOOG", LONG, 7.5))
    assert [(one.suspended, one.id) for one in suspended] == [(slow.number, slow.id)]
    found = store.subscriptions.get(slow.id)
    assert found is not None
    assert (found.state, found.reason) == ("suspended", suspended[0].reason)
    assert list(store.joins.joined()) == [quick.number]
    assert store.notifications.after(slow.number, 0) == []
    assert len(kept(store, quick.number)) == 1
    fairness.begin()
    exchange.take(review("GOOG", LONG + "!", 7.5))
    assert len(suspended) == 1
    exchange.take(review("GOOG", LONG, 0.0, operation="delete"), review("GOOG", LONG + "!", 0.0, operation="delete"))
    exchange.take(review("GOOG", "b" * 900 + "q", 7.5))
    store.subscriptions.replace(slow.id, state="active")
    exchange.take(review("GOOG", "b" * 901 + "q", 7.5))
    assert len(kept(store, slow.number)) == 2
    assert told(store, slow.number, {}, 0) == kept(store, slow.number)
    assert len(suspended) == 1


def test_a_join_whose_pattern_is_slow_on_the_rows_there_are_is_suspended_before_it_begins(
    store: Store, tmp_path: Path
) -> None:
    suspended: list[Suspended] = []
    fairness = Fairness(store, tmp_path / "desk", suspended.append, budget=0.001, patience=0.0)
    exchange = Exchange(store, size=1 << 24, fairness=fairness)
    fairness.begin()
    exchange.take(stock("GOOG", 51.5), review("GOOG", LONG, 7.5))
    slow, quick = subscribed(store, SLOW), subscribed(store, QUICK)
    exchange.joining.settle()
    assert [one.suspended for one in suspended] == [slow.number]
    assert list(store.joins.joined()) == [quick.number]
    assert len(kept(store, quick.number)) == 1


def test_a_join_begins_with_the_content_of_now(store: Store, exchange: Exchange) -> None:
    exchange.take(stock("GOOG", 51.5), review("GOOG", "Ann", 7.5))
    one = subscribed(store, PRAISED)
    assert not store.joins.content(one.number).begun
    exchange.joining.settle()
    content = store.joins.content(one.number)
    assert content.begun
    assert len(content.rows) == 1
    assert content.position == store.notifications.head()
    assert told(store, one.number, {}, 0) == kept(store, one.number)
    exchange.take(stock("GOOG", 55.0))
    assert told(store, one.number, {}, 0) == kept(store, one.number)


def test_what_a_table_cannot_take_is_a_dead_letter(store: Store, exchange: Exchange) -> None:
    exchange.take(stock("A", 1.0), stock("A", 2.0, operation="insert"), stock("B", 2.0, operation="update"))
    letters = store.dead_letters.list(None, "event")
    assert [letter.subject for letter in letters] == ["e1", "e2"]
    assert "already" in letters[0].reason
    assert "no row" in letters[1].reason


def test_cancelling_pausing_and_resuming_free_and_rebuild_the_content(store: Store, exchange: Exchange) -> None:
    one, other = subscribed(store, PRAISED), subscribed(store, PRAISED)
    exchange.take(stock("GOOG", 51.5), review("GOOG", "Ann", 7.5))
    store.subscriptions.replace(one.id, state="paused")
    store.subscriptions.cancel(other.id)
    exchange.joining.settle()
    assert store.joins.joined() == {}
    assert store.joins.sizes() == {}
    exchange.take(stock("GOOG", 52.0))
    store.subscriptions.expire(LATER + timedelta(days=1))
    exchange.joining.settle()
    assert store.joins.joined() == {}
    store.subscriptions.renew(one.id, LATER + timedelta(days=9))
    exchange.joining.settle()
    assert [row["PER"] for row in kept(store, one.number).values()] == [52.0]
    # A follower that had what was there before the pause is told to begin anew.
    assert told(store, one.number, {}, 0) == kept(store, one.number)


def test_another_text_is_another_content(store: Store, exchange: Exchange) -> None:
    one = subscribed(store, PRAISED)
    exchange.take(stock("GOOG", 51.5), review("GOOG", "Ann", 7.5))
    none = PRAISED.replace("5", "9")
    store.subscriptions.replace(one.id, text=none, filter=none)
    exchange.joining.settle()
    assert kept(store, one.number) == told(store, one.number, {}, 0) == {}


def test_one_that_outgrows_the_limit_is_paused_and_says_why(store: Store) -> None:
    exchange = Exchange(store, rows=2)
    one = subscribed(store, PRAISED)
    exchange.take(stock("A", 30.0), *(review("A", name, 9.0) for name in ("Ann", "Bob")))
    assert len(kept(store, one.number)) == 2
    exchange.take(review("A", "Cyd", 9.0))
    found = store.subscriptions.get(one.id)
    assert found is not None
    assert found.state == "paused"
    assert "more than 2 rows" in store.joins.content(one.number).trouble
    assert kept(store, one.number) == {}
    exchange.joining.settle()
    exchange.start()
    assert "more than 2 rows" in store.joins.content(one.number).trouble
    exchange.take(review("A", "Cyd", 0.0, operation="update"))
    store.subscriptions.replace(one.id, state="active")
    exchange.joining.settle()
    assert len(kept(store, one.number)) == 2
    # And one that is too large from its first moment on.
    exchange.take(review("A", "Cyd", 9.0))
    store.subscriptions.replace(one.id, state="active")
    exchange.joining.settle()
    assert store.joins.content(one.number).trouble


def test_tables_come_with_an_extension_of_the_schema(store: Store) -> None:
    store.schemas.add({"attributes": {"Symbol": "string"}, "event_types": {"Old": {"Symbol": "mandatory"}}})
    exchange = Exchange(store)
    store.schemas.add(FORM)
    one = subscribed(store, PRAISED)
    exchange.joining.settle()
    exchange.take(stock("GOOG", 51.5), review("GOOG", "Ann", 7.5))
    assert len(kept(store, one.number)) == 1


def test_a_column_that_is_called_otherwise_by_now_is_told_anew(store: Store) -> None:
    exchange = Exchange(store)
    clear = PRAISED.replace("PER", "Stocks.PER")
    one, other, vague = (subscribed(store, text) for text in (clear, TRADED.replace("PER", "Stocks.PER"), PRAISED))
    exchange.take(stock("GOOG", 51.5), review("GOOG", "Ann", 7.5))
    grown = Schema.from_dict(FORM).extend(optional={"Reviews": {"PER": "optional"}}).to_dict()
    store.schemas.add(grown)
    exchange.joining.settle()
    (row,) = kept(store, one.number).values()
    assert row == {"Symbol": "GOOG", "Stocks.PER": 51.5, "Analyst": "Ann", "Rating": 7.5}
    exchange.take(stock("GOOG", 60.0))
    assert told(store, one.number, {}, 0) == kept(store, one.number)
    # The others are left in peace, but for one that does not say which table it means.
    assert store.notifications.after(other.number, 0) == []
    assert "PER" in store.joins.content(vague.number).trouble
    assert kept(store, vague.number) == {}
    assert [refusal.subscription for refusal in exchange.refused] == [vague.number]


def test_one_that_has_the_log_no_more_begins_nothing(any_store: Store) -> None:
    exchange = Exchange(any_store)
    any_store.progress.take_over(Reached("topic", "", ""), "mine")
    exchange.joining.take_over(("topic", "mine"))
    one = subscribed(any_store, PRAISED)
    exchange.joining.settle()
    assert any_store.joins.joined().keys() == {one.number}
    any_store.progress.take_over(Reached("topic", "mine", ""), "another's")
    subscribed(any_store, PRAISED)
    with pytest.raises(StoreError, match="another service"):
        exchange.joining.settle()
    assert any_store.joins.joined().keys() == {one.number}


@pytest.mark.parametrize("seed", range(4))
def test_contents_are_the_oracles_whatever_is_killed(any_store: Store, seed: int) -> None:
    store, random = any_store, Random(seed)
    exchange = Exchange(store)
    texts: dict[str, str] = {}
    past: list[dict[str, Any]] = []
    starts: list[tuple[int, dict[str, Any], int]] = []
    for second in range(0, 100, 5):
        if random.random() < 0.3:
            text = random.choice([PRAISED, TRADED, ALL_THREE])
            texts[str(subscribed(store, text).number)] = text
        events = drawn(random, 5, second)
        past += events
        batch = exchange.planned(events)
        kill = random.random()
        if kill < 0.2:
            fails_before_it_is_recorded(exchange, batch, killed=kill < 0.1)
        exchange.record(batch)
        if kill > 0.8:
            # The batch is in the store, and Spark does not know: it is run again.
            exchange.start()
            exchange.record(batch)
        oracle = NaiveJoins(SCHEMA, texts)
        _, refused = oracle.apply(past)
        for number in map(int, texts):
            content = store.joins.content(number)
            assert kept(store, number) == shown(oracle, str(number))
            starts.append((number, kept(store, number), content.position))
    letters = store.dead_letters.list(None, "event", limit=1_000)
    assert sorted(letter.subject for letter in letters) == sorted(f"e{place}" for place in refused)
    for number, start, position in starts:
        assert told(store, number, start, position) == kept(store, number)


def fails_before_it_is_recorded(exchange: Exchange, batch: pa.Table, killed: bool) -> None:
    notifications = exchange.store.notifications
    record = notifications.record
    notifications.record = lambda *_: fail()  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        exchange.record(batch)
    notifications.record = record  # type: ignore[method-assign]
    if killed:
        exchange.start()


def fail() -> bool:
    raise StoreError("killed")
