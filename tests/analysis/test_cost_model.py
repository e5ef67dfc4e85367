"""What subscriptions are expected to cost is what matching counts: candidates and buckets, on all kinds of sets."""

from __future__ import annotations

import numpy as np
import pytest

import tamis
from tamis.analysis.cost_model import Cost, cost_of, is_ungated
from tamis.matching.base.matcher import Matches
from tamis.matching.base.statistics import Statistics
from tamis.matching.columnar.level import ColumnarMatcher
from tamis.workloads import Workload, named

EVENTS = 3_000


def measured(workload: Workload, planned: bool) -> tuple[Cost, Matches]:
    """What is expected, and what matching the events really took."""
    events = workload.schema.to_arrow(workload.events)
    statistics = Statistics.from_events(events)
    index = tamis.compile(workload.subscriptions, workload.schema, statistics=statistics if planned else None)
    assert isinstance(index.matcher, ColumnarMatcher)
    return cost_of(index.matcher.folded(), workload.schema, statistics), index.match(events)


@pytest.mark.parametrize("planned", [True, False], ids=["planned for the events", "planned without"])
@pytest.mark.parametrize("name", ["le_subscribe", "w2", "w2z", "w4", "w5", "w5s", "w6a", "gryphon", "padres_sets"])
def test_expected_work_is_the_work_done(name: str, planned: bool) -> None:
    cost, matches = measured(named(name)(20_000, EVENTS), planned)
    assert cost.candidates.sum() == pytest.approx(matches.work.candidates / EVENTS, rel=0.15)
    assert cost.buckets == pytest.approx(matches.work.buckets / EVENTS, rel=0.25)


def test_expected_matches_are_the_matches() -> None:
    cost, matches = measured(named("le_subscribe")(20_000, EVENTS), True)
    assert cost.matches.sum() == pytest.approx(len(matches) / EVENTS, rel=0.05)
    counted = np.bincount(matches.numbers, minlength=20_000) / EVENTS
    often = cost.matches > 0.05
    assert np.corrcoef(cost.matches[often], counted[often])[0, 1] > 0.98


def test_every_place_in_the_index_is_somebody_s() -> None:
    workload = named("auctions")(5_000, 10)
    matcher = tamis.compile(workload.subscriptions, workload.schema).matcher
    assert isinstance(matcher, ColumnarMatcher)
    level = matcher.folded()
    cost = cost_of(level, workload.schema)
    buckets = level.own_arrays()
    assert cost.entries.sum() == len(buckets["buckets.positions"])
    assert cost.conjuncts.sum() == len(level.conjuncts)
    assert cost.bytes.sum() <= buckets["buckets.pool"].nbytes
    assert cost.bytes.sum() >= 0.9 * buckets["buckets.pool"].nbytes
    assert (cost.nanoseconds[cost.entries > 0] > 0).all()


def test_what_every_event_looks_at_costs_more_than_what_is_looked_up() -> None:
    schema = tamis.Schema.from_dict(
        {"attributes": {"a": "integer", "b": "float"}, "event_types": {"e": {"a": "optional", "b": "optional"}}}
    )
    texts = {f"s{k}": f"a = {k}" for k in range(2_000)} | {"wide": "b > 0"}
    matcher = tamis.compile(texts, schema).matcher
    assert isinstance(matcher, ColumnarMatcher)
    level = matcher.folded()
    cost = cost_of(level, schema)
    wide = level.find("wide")
    assert wide == int(np.argmax(cost.nanoseconds))
    assert cost.candidates[wide] > 100 * np.median(cost.candidates)


@pytest.mark.parametrize(
    ("expression", "ungated"), [("[a-z]+", True), ("^a.b", True), ("sofa [0-9]+", False), ("^oak$", False), (".", True)]
)
def test_an_expression_without_letters_that_must_occur_is_run_on_every_value(expression: str, ungated: bool) -> None:
    assert is_ungated(expression) is ungated
