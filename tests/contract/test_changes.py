"""Subscriptions come and go between matches, and every match sees exactly those that are there."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import tamis
from tamis.errors import SubscriptionError
from tamis.schema import Schema
from tamis.testing import Generated, events, filters, reference_matches, workloads
from tests.contract.every import AUCTIONS, answered, answers, every_matcher, examples
from tests.generated import cases


class Changes(RuleBasedStateMachine):
    """A matcher beside a dict of what it should hold."""

    def __init__(self, matcher: str) -> None:
        super().__init__()
        self.matcher = matcher
        self.expected: dict[str, str] = {}
        self.named = 0

    @initialize(workload=workloads(max_subscriptions=5, max_events=4))
    def start(self, workload: Generated) -> None:
        self.schema: Schema = workload.schema
        self.events: list[dict[str, Any]] = workload.events
        self.index = tamis.compile(workload.subscriptions, workload.schema, matcher=self.matcher)
        self._note(workload.subscriptions)

    @rule(data=st.data(), copies=st.sampled_from((1, 1, 1, 2, 50, 700)))
    def add(self, data: st.DataObject, copies: int) -> None:
        drawn = data.draw(st.lists(filters(self.schema), min_size=1, max_size=3))
        new = {}
        for text in drawn * copies:
            new[f"t{self.named}"] = text
            self.named += 1
        self.index.add(new)
        self._note(new)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if self.expected:
            ids = data.draw(st.lists(st.sampled_from(sorted(self.expected)), max_size=4, unique=True))
            self.index.remove(ids)
            for key in ids:
                del self.expected[key]

    @rule(share=st.sampled_from((0.5, 0.9, 1.0)))
    def remove_many(self, share: float) -> None:
        ids = random.Random(len(self.expected)).sample(sorted(self.expected), int(share * len(self.expected)))
        self.index.remove(ids)
        for key in ids:
            del self.expected[key]

    @rule(data=st.data())
    def put_back_under_the_same_id(self, data: st.DataObject) -> None:
        if self.expected:
            key = data.draw(st.sampled_from(sorted(self.expected)))
            text = data.draw(filters(self.schema))
            self.index.remove([key])
            del self.expected[key]
            self.index.add({key: text})
            self._note({key: text})

    @rule(data=st.data())
    def other_events(self, data: st.DataObject) -> None:
        self.events = data.draw(st.lists(events(self.schema), max_size=4))

    @rule()
    def save_and_open(self) -> None:
        with TemporaryDirectory() as folder:
            self.index.save(Path(folder) / "index")
            self.index = tamis.Index.open(Path(folder) / "index")

    @invariant()
    def matches_what_is_there(self) -> None:
        if hasattr(self, "index"):
            assert len(self.index) == len(self.expected)
            assert answers(self.index, self.events) == reference_matches(self.expected, self.schema, self.events)

    def _note(self, added: dict[str, str]) -> None:
        refused = {key for key, _ in self.index.errors}
        self.expected.update({key: text for key, text in added.items() if key not in refused})


@every_matcher
def test_changes_between_matches_are_seen(matcher: str) -> None:
    _run(matcher, settings(max_examples=examples(matcher, cases(15)), stateful_step_count=12))


@pytest.mark.slow
@pytest.mark.timeout(7200)
@every_matcher
def test_changes_between_matches_are_seen_at_length(matcher: str) -> None:
    _run(matcher, settings(max_examples=examples(matcher, 400), stateful_step_count=40))


def _run(matcher: str, how: settings) -> None:
    class Machine(Changes):
        def __init__(self) -> None:
            super().__init__(matcher)

    run_state_machine_as_test(Machine, settings=how)


@every_matcher
def test_thousands_of_changes_one_by_one(matcher: str) -> None:
    workload, every, oracle = answered("w1", subscriptions=4000, events=20, seed=5)
    ids = list(every)
    index = tamis.compile({key: every[key] for key in ids[:2000]}, workload.schema, matcher=matcher)
    expected = set(ids[:2000])
    rng = random.Random(5)
    for step in range(3000):
        key = rng.choice(ids)
        if key in expected:
            index.remove([key])
        else:
            index.add({key: every[key]})
        expected ^= {key}
        if step % 200 == 0:
            assert answers(index, workload.events) == [[key for key in row if key in expected] for row in oracle]
    assert sorted(index.ids().to_pylist()) == sorted(expected)


@every_matcher
def test_adding_a_present_id_is_refused_and_changes_nothing(matcher: str) -> None:
    index = tamis.compile({"s": "price > 1"}, AUCTIONS, matcher=matcher)
    with pytest.raises(SubscriptionError, match="s"):
        index.add({"t": "price > 2", "s": "price > 3"})
    assert len(index) == 1
    assert answers(index, [{"event_type": ["antiques"], "price": 9.0}]) == [["s"]]


@every_matcher
def test_removing_an_absent_id_is_refused_and_changes_nothing(matcher: str) -> None:
    index = tamis.compile({"s": "price > 1"}, AUCTIONS, matcher=matcher)
    with pytest.raises(SubscriptionError, match="nobody"):
        index.remove(["s", "nobody"])
    assert answers(index, [{"event_type": ["antiques"], "price": 9.0}]) == [["s"]]


@every_matcher
def test_every_change_makes_a_new_version(matcher: str) -> None:
    index = tamis.compile({"s": "price > 1"}, AUCTIONS, matcher=matcher)
    seen = [index.version]
    index.add({"t": "price > 2"})
    seen.append(index.version)
    index.remove(["t"])
    seen.append(index.version)
    assert len(set(seen)) == 3


@every_matcher
def test_a_match_holds_its_answer_while_the_index_changes(matcher: str) -> None:
    index = tamis.compile({"s": "price > 1", "t": "price > 2"}, AUCTIONS, matcher=matcher)
    matches = index.match([{"event_type": ["antiques"], "price": 9.0}])
    index.remove(["s", "t"])
    index.add({"u": "price > 1"})
    assert sorted(matches.to_lists()[0]) == ["s", "t"]
