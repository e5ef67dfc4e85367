"""Mergers match what their parts match, no more than they may, and vanish with a part or behind a cover."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tamis.language import Filter, print_filter
from tamis.matching.base.statistics import AttributeStatistics, Statistics
from tamis.routing.merging import MergePolicy, MergingTable, Rules
from tamis.routing.standing.forwarding import Change
from tests.generated import cases
from tests.routing.covering.small_worlds import SCHEMA, VALUES, conditions, conjunctions, normal, really_covers

_NAMES = ["i", "f", "s", "e", "u"]
_PLAIN = conjunctions(conditions(_NAMES), 2).map(normal).filter(lambda filter: len(filter.conjuncts) <= 1)
_DISJUNCTIONS = st.lists(conjunctions(conditions(_NAMES), 2), min_size=2, max_size=2).map(" OR ".join).map(normal)
EVEN = Statistics(
    1000,
    {
        name: AttributeStatistics(1.0, {value: 1 / len(values) for value in values})
        for name, values in VALUES.items()
        if name in "ij"
    },
)


class Merging(RuleBasedStateMachine):
    """Filters come and go, mergings happen in between, under policies of all kinds."""

    @initialize(
        rules=st.integers(0, 15).map(Rules),
        imt=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
        every=st.sampled_from([None, 1, 3]),
        every_side=st.booleans(),
    )
    def begin(self, rules: Rules, imt: float, every: int | None, every_side: bool) -> None:
        policy = MergePolicy(imt, rules, every=every, order=["s", "i"], every_side=every_side)
        self.table = MergingTable(SCHEMA, policy, EVEN)
        self.filters: dict[str, Filter] = {}
        self.told: dict[str, Filter] = {}
        self.count = 0

    def take(self, change: Change) -> None:
        assert not {id for id, _ in change.subscribe} & set(change.unsubscribe)
        for id, filter in change.subscribe:
            assert id not in self.told
            self.told[id] = filter
        for id in change.unsubscribe:
            del self.told[id]

    @rule(filter=st.one_of(_PLAIN, _PLAIN, _DISJUNCTIONS))
    def insert(self, filter: Filter) -> None:
        id = f"s{self.count}"
        self.count += 1
        self.filters[id] = filter
        self.take(self.table.insert(id, filter))

    @precondition(lambda self: self.filters)
    @rule(data=st.data())
    def remove(self, data: Any) -> None:
        id = data.draw(st.sampled_from(sorted(self.filters)))
        del self.filters[id]
        self.take(self.table.remove(id))

    @rule()
    def merge(self) -> None:
        before = self.table.forwarded_count
        self.take(self.table.merge())
        assert self.table.forwarded_count <= before

    @invariant()
    def what_was_told_is_what_is_forwarded(self) -> None:
        assert self.told == dict(self.table.forwarded())
        assert len(self.table) == len(self.filters)
        for filter in self.filters.values():
            if not really_covers(normal("i = 1 AND i = 3"), filter):
                assert any(really_covers(told, filter) for told in self.told.values())

    @invariant()
    def mergers_match_their_parts_and_no_more_than_they_may(self) -> None:
        for id, merger in self.table.mergers.items():
            assert id in self.told
            assert len(merger.parts) > 1
            assert merger.parts.keys() <= self.filters.keys()
            union = Filter(tuple(c for part in merger.parts for c in self.filters[part].conjuncts))
            assert really_covers(merger.filter, union)
            if not merger.vain:
                assert really_covers(union, merger.filter)
            else:
                assert merger.vain < self.table.policy.imt
                assert merger.vain <= merger.degree <= 1.0


TestMerging = Merging.TestCase
TestMerging.settings = settings(max_examples=cases(60), stateful_step_count=20, deadline=None)


def merged(*texts: str, imt: float = 0.0, rules: Rules = Rules.TABLE_1, statistics: Statistics = EVEN) -> list[str]:
    """The forwarded filters after one merging, as texts."""
    table = MergingTable(SCHEMA, MergePolicy(imt, rules, every=None), statistics)
    for k, text in enumerate(texts):
        table.insert(f"s{k}", normal(text))
    table.merge()
    return sorted(print_filter(filter, SCHEMA) for _, filter in table.forwarded())


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["i = 3", "i = 4"], ["i BETWEEN 3 AND 4"]),
        (["i = 3 AND s = 'a'", "i = 4 AND s = 'a'"], ["i BETWEEN 3 AND 4 AND s = 'a'"]),
        (["i = 3 AND s = 'a'", "i = 4 AND s = 'b'"], ["i = 3 AND s = 'a'", "i = 4 AND s = 'b'"]),
        (["i < 3", "i = 3"], ["i <= 3"]),
        (["i < 3", "i >= 3"], ["i IS NOT NULL"]),
        (["i = 3", "i = 5"], ["i = 3", "i = 5"]),
        (["f <= 1.5", "f > 1.5"], ["f IS NOT NULL"]),
        (["f < 1.5", "f > 1.5"], ["f < 1.5", "f > 1.5"]),
        (["e = 'plain'", "e = 'carved'"], ["e <= 'carved'"]),
        (["u = 'red'", "u = 'blue'"], ["u IS NOT NULL"]),
        (["s LIKE 'a%'", "s LIKE 'b%'"], ["s >= 'a' AND s < 'c'"]),
    ],
)
def test_perfect_mergers_lose_nothing(texts: list[str], expected: list[str]) -> None:
    assert merged(*texts) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["i < 1", "i > 3"], ["i IS NOT NULL"]),
        (["i < 1", "i = 3"], ["i <= 3"]),
        (["i > 3", "i = 1"], ["i >= 1"]),
        (["i = 1", "i = 3"], ["i = 1", "i = 3"]),
    ],
)
def test_the_papers_table_with_its_bounds_closed(texts: list[str], expected: list[str]) -> None:
    assert merged(*texts, imt=1.0) == expected


def test_other_rules_are_asked_for() -> None:
    texts = ["i = 1", "i = 3"]
    assert merged(*texts, imt=1.0, rules=Rules.HULLS) == ["i BETWEEN 1 AND 3"]
    assert merged(*texts, rules=Rules.LISTS) == ["i IN (1, 3)"]
    # A list says nothing of ranges, so what touches is joined alone.
    assert merged("i > 3", "i = 3", "i = 1", rules=Rules.LISTS) == ["i = 1", "i >= 3"]
    both = ["i = 1 AND s = 'a'", "i = 3 AND s = 'a'"]
    assert merged(*both, imt=1.0, rules=Rules.DROPPED) == ["s = 'a'"]


def test_a_merger_may_not_forward_more_in_vain_than_the_threshold() -> None:
    # Three of nine values lie between: a third of the events.
    assert merged("i < 0", "i = 3", imt=3 / 9 - 1e-6) == ["i <= -1", "i = 3"]
    assert merged("i < 0", "i = 3", imt=3 / 9 + 1e-6) == ["i <= 3"]


def test_without_statistics_every_event_may_be_in_vain() -> None:
    assert len(merged("i < 1", "i = 3", imt=0.99, statistics=Statistics(0, {}))) == 2


def test_what_nobody_advertises_is_not_forwarded_in_vain() -> None:
    """The paper's tickets (§5.4): nothing below 150 is advertised, so a merger from 120 on forwards nothing in vain."""
    texts = {"a": "i > 150", "b": "i = 130", "c": "i = 120"}
    table = MergingTable(SCHEMA, MergePolicy(0.0, Rules.TABLE_1, every=None), EVEN)
    for id, text in texts.items():
        table.insert(id, normal(text))
    assert not table.merge()
    table.advertise([normal("i > 150")])
    change = table.merge()
    assert [print_filter(filter, SCHEMA) for _, filter in change.subscribe] == ["i >= 120"]
    assert set(change.unsubscribe) == {"a", "b", "c"}
    (merger,) = table.mergers.values()
    assert merger.vain == merger.degree == 0.0


def test_a_part_that_leaves_cancels_the_merger_and_brings_the_others_back() -> None:
    table = MergingTable(SCHEMA, MergePolicy(every=None))
    for k in (1, 2, 3):
        table.insert(f"s{k}", normal(f"i = {k}"))
    merger = table.merge().subscribe[0][0]
    change = table.remove("s2")
    assert change.unsubscribe == (merger,)
    assert {id for id, _ in change.subscribe} == {"s1", "s3"}
    assert not table.mergers


def test_an_equal_filter_takes_the_place_of_a_part_that_leaves() -> None:
    table = MergingTable(SCHEMA, MergePolicy(every=None))
    for id, text in {"a": "i = 1", "b": "i = 2", "c": "i = 1"}.items():
        table.insert(id, normal(text))
    table.merge()
    assert not table.remove("a")
    assert table.remove("c")
    assert [id for id, _ in table.forwarded()] == ["b"]


def test_a_filter_that_covers_a_merger_cancels_it() -> None:
    table = MergingTable(SCHEMA, MergePolicy(every=None))
    for k in (1, 2):
        table.insert(f"s{k}", normal(f"i = {k}"))
    merger = table.merge().subscribe[0][0]
    change = table.insert("wide", normal("i > 0"))
    assert change.unsubscribe == (merger,)
    assert not table.mergers
    assert {id for id, _ in table.remove("wide").subscribe} == {"s1", "s2"}


def test_mergers_are_merged_and_cancelled_as_one() -> None:
    table = MergingTable(SCHEMA, MergePolicy(every=None))
    for i in (1, 2):
        for j in (5, 6):
            table.insert(f"{i}{j}", normal(f"i = {i} AND j = {j}"))
    table.merge()
    assert [print_filter(filter, SCHEMA) for _, filter in table.forwarded()] == [
        "i BETWEEN 1 AND 2 AND j BETWEEN 5 AND 6"
    ]
    change = table.remove("15")
    assert {id for id, _ in change.subscribe} == {"16", "25", "26"}


@pytest.mark.parametrize(
    ("policy", "merged_after"),
    [
        (MergePolicy(every=3), [3, 6]),
        (MergePolicy(every=None, size=4), [4, 5, 6]),
        (MergePolicy(every=None, growth=2.0), [2, 4]),
        (MergePolicy(every=None, period=5.0), [5]),
    ],
)
def test_policies_say_when(policy: MergePolicy, merged_after: list[int]) -> None:
    now = [0.0]
    table = MergingTable(SCHEMA, policy, clock=lambda: now[0])
    found: list[int] = []
    for k in range(1, 7):
        now[0] += 1.0
        table.insert(f"s{k}", normal(f"i = {10 * k}"))
        if table.mergings > len(found):
            found.append(k)
    assert found == merged_after


def test_ids_of_mergers_are_kept_for_mergers() -> None:
    with pytest.raises(ValueError, match="kept for these"):
        MergingTable(SCHEMA).insert("merger-1", normal("i = 1"))
