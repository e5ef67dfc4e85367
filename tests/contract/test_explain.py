"""An explanation and a match never disagree, and an explanation says why."""

from __future__ import annotations

import pytest

import tamis
from tamis.errors import SubscriptionError
from tamis.testing import Generated, workloads
from tests.contract.every import AUCTIONS, answers, check_generated, every_matcher
from tests.generated import cases


@every_matcher
def test_an_explanation_agrees_with_the_match(matcher: str) -> None:
    check_generated(matcher, cases(30), workloads(max_subscriptions=6, max_events=3), _explains)


def _explains(matcher: str, workload: Generated) -> None:
    index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
    for event, matched in zip(workload.events, answers(index, workload.events), strict=True):
        for key in index.ids().to_pylist():
            explanation = index.explain(event, key)
            assert explanation.matched == (key in matched)
            assert (explanation.first_failure is None) == (explanation.matched or not explanation.alternatives)
            assert str(explanation).startswith("match" if explanation.matched else "no match")


@every_matcher
def test_every_condition_is_held_failed_or_absent_and_the_first_failure_is_named(matcher: str) -> None:
    index = tamis.compile({"s": "price < 10 AND quantity > 1 AND title LIKE 'a%'"}, AUCTIONS, matcher=matcher)
    explanation = index.explain({"event_type": ["antiques"], "price": 5.0, "quantity": 1}, "s")
    assert not explanation.matched
    [verdicts] = explanation.alternatives
    assert {next(iter(verdict.values)): verdict.state for verdict in verdicts} == {
        "price": "held",
        "quantity": "failed",
        "title": "absent",
    }
    assert explanation.first_failure is not None
    assert explanation.first_failure.state == "failed"
    assert "quantity" in str(explanation)


@every_matcher
def test_explaining_an_unknown_subscription_is_refused(matcher: str) -> None:
    index = tamis.compile({"s": "price < 10"}, AUCTIONS, matcher=matcher)
    with pytest.raises(SubscriptionError, match="nobody"):
        index.explain({"event_type": ["antiques"]}, "nobody")


@every_matcher
def test_a_subscription_is_explained_after_changes_too(matcher: str) -> None:
    index = tamis.compile({"s": "price < 10"}, AUCTIONS, matcher=matcher)
    index.add({"t": "price < 3"})
    index.remove(["s"])
    assert index.explain({"event_type": ["antiques"], "price": 2.0}, "t").matched
    assert index.text("t") == "price < 3"
    with pytest.raises(SubscriptionError):
        index.explain({"event_type": ["antiques"]}, "s")
