"""Every matcher says what its answers cost, in the same counters."""

from __future__ import annotations

import tamis
from tamis.workloads import le_subscribe
from tests.contract.every import AUCTIONS, every_matcher

EVENT = {"event_type": ["antiques"], "price": 9.0, "tags": ["a", "b"], "title": "desk"}


@every_matcher
def test_candidates_predicates_and_bytes_are_counted(matcher: str) -> None:
    workload = le_subscribe(2000, 40, seed=3)
    index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
    matches = index.match(workload.events)
    assert len(matches) <= matches.work.candidates <= 7 * 2000 * 40  # counted once for each predicate, and once more
    assert 0 < matches.work.predicates <= 6 * 2000 * 40
    assert index.matcher.bytes_held > 0


@every_matcher
def test_what_costs_nothing_is_counted_as_nothing(matcher: str) -> None:
    index = tamis.compile({}, AUCTIONS, matcher=matcher)
    assert index.match([EVENT]).work.counters.tolist() == [0, 0, 0, 0, 0]
    index.add({"s": "price > 1"})
    assert index.match([]).work.counters.tolist() == [0, 0, 0, 0, 0]


@every_matcher
def test_an_answer_counts_its_own_work_only(matcher: str) -> None:
    texts = {"s": "price > 1 AND title LIKE '%d%'", "t": "tags = 'a' OR price < 3", "u": "NOT title = 'x'"}
    index = tamis.compile(texts, AUCTIONS, matcher=matcher)
    once, again = index.match([EVENT]).work, index.match([EVENT]).work
    assert once.counters.tolist() == again.counters.tolist()
    twice = index.match([EVENT, EVENT]).work
    assert twice.counters.tolist() == (2 * once.counters).tolist()
    assert once.candidates >= 3
    assert once.predicates >= 1
