"""What each algorithm promises to look at, and no more."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import tamis
from tamis.matching.base.matcher import Matches
from tamis.schema import Schema
from tamis.testing import reference_matches
from tamis.workloads import le_subscribe
from tests.contract.every import COMPARED, answers, texts

NAMES = [f"a{k}" for k in range(4)]
SCHEMA = Schema.from_dict(
    {"attributes": dict.fromkeys(NAMES, "integer"), "event_types": {"e": dict.fromkeys(NAMES, "optional")}}
)


def drawn(count: int, seed: int, comparisons: tuple[str, ...] = ("=", "<=", ">=")) -> dict[str, str]:
    """Conjunctions over few constants, so that many have the same predicates."""
    rng = random.Random(seed)
    found = {}
    for k in range(count):
        chosen = rng.sample(NAMES, rng.randint(1, 4))
        found[f"s{k}"] = " AND ".join(f"{name} {rng.choice(comparisons)} {rng.randrange(8)}" for name in chosen)
    return found


def distinct(subscriptions: dict[str, str]) -> set[str]:
    return {predicate for text in subscriptions.values() for predicate in text.split(" AND ")}


def one(matcher: str, subscriptions: dict[str, str], event: dict[str, Any]) -> Matches:
    """One event's matches, which are right."""
    index = tamis.compile(subscriptions, SCHEMA, matcher=matcher)
    assert answers(index, [event]) == reference_matches(subscriptions, SCHEMA, [event])
    return index.match([event])


EVENTS = [dict(zip(NAMES, values, strict=True)) for values in ((0, 0, 0, 0), (7, 3, 1, 4), (9, 9, -9, -9))]


@pytest.mark.parametrize("event", EVENTS)
def test_fair_predicate_decides_each_predicate_at_most_once(event: dict[str, int]) -> None:
    subscriptions = drawn(2000, 1)
    matches = one("fair-predicate", subscriptions, event)
    assert len(distinct(subscriptions)) < 100
    assert 0 < matches.work.predicates <= len(distinct(subscriptions))


def test_fair_predicate_stores_a_predicate_once_however_many_ask_for_it() -> None:
    few, many = drawn(50, 2), {f"{key}-{k}": text for key, text in drawn(50, 2).items() for k in range(20)}
    work = [one("fair-predicate", some, EVENTS[1]).work for some in (few, many)]
    assert work[0].predicates == work[1].predicates
    assert work[1].candidates == 20 * work[0].candidates


@pytest.mark.parametrize("event", EVENTS)
def test_gough_visits_a_node_an_attribute_and_looks_at_each_bound_at_most_once(event: dict[str, int]) -> None:
    subscriptions = drawn(12, 3)
    work = one("gough", subscriptions, event).work
    assert 0 < work.nodes <= len(NAMES)
    bounds = sum(2 if " = " in predicate else 1 for predicate in distinct(subscriptions))
    assert work.predicates <= bounds
    assert work.candidates == len(reference_matches(subscriptions, SCHEMA, [event])[0])


def test_equality_preferred_and_quarantine_look_up_each_schema_once() -> None:
    subscriptions = drawn(3000, 4, ("=",))
    for matcher in ("equality-preferred", "quarantine"):
        matches = one(matcher, subscriptions, EVENTS[0])
        # Equalities only: whatever a lookup finds is a match, unless it asks for two values at once.
        assert matches.work.candidates == len(matches)
        assert matches.work.buckets <= 2 ** len(NAMES) - 1
        assert matches.work.buckets <= matches.work.probes


def test_quarantine_counts_only_for_those_without_equalities() -> None:
    subscriptions = {f"e{k}": f"a0 = {k} AND a1 >= 0" for k in range(1000)}
    subscriptions |= {f"n{k}": f"a1 >= {k}" for k in range(5)}
    work = one("quarantine", subscriptions, {"a0": 3, "a1": 4}).work
    assert work.candidates == 1 + 5 + 5  # found by its equality; five counted for, five compared
    assert one("equality-preferred", subscriptions, {"a0": 3, "a1": 4}).work.candidates == 1000 + 5 + 1 + 5


def test_hanson_goes_down_a_balanced_tree_an_attribute_and_verifies_what_is_marked() -> None:
    subscriptions = {f"s{k}": f"a0 BETWEEN {k} AND {k + 3} AND a1 = {k}" for k in range(1000)}
    work = one("hanson", subscriptions, {"a0": 500, "a1": 499}).work
    assert work.nodes <= 2 * (math.log2(2000) + 1)
    assert work.candidates == 1  # the equality is the more selective one


def test_neon_evaluates_every_predicate_on_the_attributes_of_the_event() -> None:
    subscriptions = drawn(500, 5)
    asked = [p for text in subscriptions.values() for p in text.split(" AND ") if p.startswith(("a0 ", "a2 "))]
    assert one("neon", subscriptions, {"a0": 3, "a2": 5}).work.predicates == len(asked)


def test_a_scan_looks_at_all() -> None:
    subscriptions = drawn(500, 6)
    assert one("scan", subscriptions, EVENTS[0]).work.candidates == 500


def test_quarantine_touches_fewer_than_equality_preferred_than_fair_predicate() -> None:
    workload = le_subscribe(20_000, 50, seed=1, p=0.5)
    candidates = {}
    for matcher in ("quarantine", "equality-preferred", "fair-predicate"):
        index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
        candidates[matcher] = index.match(workload.events).work.candidates
    assert list(candidates.values()) == sorted(candidates.values())
    assert 5 * candidates["quarantine"] < candidates["fair-predicate"]


@pytest.mark.parametrize("matcher", [name for name in COMPARED if name != "gough"])
def test_space_grows_with_the_subscriptions(matcher: str) -> None:
    held = []
    for count in (2000, 8000):
        workload = le_subscribe(count, 1, seed=1, p=0.5)
        held.append(tamis.compile(workload.subscriptions, workload.schema, matcher=matcher).matcher.bytes_held)
    assert held[0] < held[1] < 5 * held[0]


def test_thousands_agree_on_the_papers_workload() -> None:
    workload = le_subscribe(3000, 60, seed=2, p=0.5)
    expected = reference_matches(texts(workload), workload.schema, workload.events)
    for matcher in COMPARED:
        index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
        assert answers(index, workload.events) == expected, matcher
