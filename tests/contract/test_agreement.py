"""Every matcher answers as the oracle does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.matching.base.statistics import Statistics
from tamis.testing import Generated, crowds, reference_matches, workloads
from tests.contract.every import answered, answers, check_generated, every_matcher
from tests.generated import cases

EXPLORATION = ("w1", "w1p1", "w2", "w2z", "w3", "w4", "w5", "w5s", "w6", "w6a")


@every_matcher
def test_agrees_with_the_oracle(matcher: str) -> None:
    check_generated(matcher, cases(75), workloads(), _agrees)


@every_matcher
def test_agrees_with_the_oracle_on_crowds(matcher: str) -> None:
    check_generated(matcher, cases(30), crowds(), _agrees)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(4))
def test_all_agree_with_the_oracle_at_length(part: int) -> None:  # parts run in processes of their own
    _check_all(cases(150), workloads(max_subscriptions=40, max_events=20))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(4))
def test_all_agree_with_the_oracle_on_crowds_at_length(part: int) -> None:
    _check_all(cases(15), crowds(max_subscriptions=2000))


@every_matcher
def test_statistics_of_the_stream_change_the_plan_but_not_the_answer(matcher: str) -> None:
    check_generated(matcher, cases(25), workloads(), _agrees_given_statistics)


@every_matcher
def test_a_batch_is_answered_as_its_events_are_one_by_one(matcher: str) -> None:
    check_generated(matcher, cases(25), workloads(), _agrees_with_itself)


@every_matcher
@pytest.mark.parametrize("name", EXPLORATION)
def test_agrees_with_the_oracle_on_the_exploration_workloads(matcher: str, name: str) -> None:
    workload, _, expected = answered(name, subscriptions=1500, events=40, seed=3)
    index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
    assert answers(index, workload.events) == expected


@every_matcher
def test_agrees_with_the_oracle_on_auctions(matcher: str) -> None:
    workload, _, expected = answered("auctions", subscriptions=1500, events=60, seed=3)
    index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
    assert index.errors == []
    assert answers(index, workload.events) == expected


def _check_all(count: int, drawn: st.SearchStrategy[Generated]) -> None:
    """Checks every matcher on the same generated cases: drawing them, and the oracle, take longer than a matcher."""

    @settings(max_examples=count)
    @given(workload=drawn)
    def case(workload: Generated) -> None:
        expected = None
        for matcher in tamis.MATCHERS:
            index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
            expected = expected or _expected(workload, index)
            assert answers(index, workload.events) == expected, matcher

    case()


def _agrees(matcher: str, workload: Generated) -> None:
    index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
    assert answers(index, workload.events) == _expected(workload, index)


def _agrees_given_statistics(matcher: str, workload: Generated) -> None:
    statistics = Statistics.from_events(workload.schema.to_arrow(workload.events))
    index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher, statistics=statistics)
    assert answers(index, workload.events) == _expected(workload, index)


def _agrees_with_itself(matcher: str, workload: Generated) -> None:
    index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
    one_by_one = [answers(index, [event])[0] for event in workload.events]
    assert answers(index, workload.events) == one_by_one


def _expected(workload: Generated, index: tamis.Index) -> list[list[str]]:
    """The oracle's answer; filters past the limit on normal forms are refused by the language, not by the matcher."""
    for _, error in index.errors:
        assert isinstance(error, tamis.errors.FilterTooComplex), error
    refused = {key for key, _ in index.errors}
    kept = {key: text for key, text in workload.subscriptions.items() if key not in refused}
    return reference_matches(kept, workload.schema, workload.events)
