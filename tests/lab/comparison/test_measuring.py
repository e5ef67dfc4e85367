"""What `measure` counts and when it stops."""

from __future__ import annotations

import dataclasses
import json

import pyarrow as pa
import pytest

import tamis
from tamis.lab.comparison import Measurement, measure
from tamis.workloads import Workload, gryphon, le_subscribe
from tamis.workloads.workload import numbered, single_type

SMALL = le_subscribe(300, 50, seed=3)


def measured(matcher: str, workload: Workload = SMALL, budget_seconds: float = 0.2) -> Measurement:
    return measure(matcher, workload, budget_seconds=budget_seconds)


@pytest.mark.parametrize("matcher", tamis.MATCHERS)
def test_every_matcher_can_be_measured_and_finds_the_same(matcher: str) -> None:
    found = measured(matcher, budget_seconds=5.0)
    expected = tamis.compile(SMALL.subscriptions, SMALL.schema).match(SMALL.events)
    assert (found.matcher, found.algorithm, found.workload) == (matcher, matcher, "le_subscribe")
    assert (found.subscriptions, found.events, found.matches) == (300, 50, len(expected))
    assert found.seconds_per_event > 0
    assert found.build_seconds > 0
    assert found.bytes_held > 0


def test_work_is_told_per_event() -> None:
    scan = measured("scan")
    assert scan.candidates_touched == 300
    tree = measured("tree", gryphon(200, 40))
    assert tree.nodes_visited > 1


def test_a_matcher_that_is_too_slow_sees_fewer_events_spread_over_all() -> None:
    """The second half of the events matches nothing: half of those seen must be of it."""
    schema = single_type({"a": "integer"})
    subscriptions = numbered(pa.array([f"a > {k - 1000}" for k in range(1000)]))
    events = pa.table({"a": [1000] * 500 + [-2000] * 500})
    found = measured("naive", Workload("halves", schema, subscriptions, events), budget_seconds=0.1)
    assert 0 < found.events < 1000
    assert found.matches == 1000 * ((found.events + 1) // 2)


def test_one_event_is_seen_however_small_the_budget_is() -> None:
    found = measured("naive", budget_seconds=1e-9)
    assert (found.events, found.rounds) == (1, 1)


def test_events_come_in_batches_of_the_size_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: set[int] = set()
    match = tamis.Index.match

    def noted(index: tamis.Index, events: pa.RecordBatch) -> tamis.Matches:
        sizes.add(len(events))
        return match(index, events)

    monkeypatch.setattr(tamis.Index, "match", noted)
    assert measure("columnar", SMALL, budget_seconds=0.2, warm=False, batch_rows=1).batch_rows == 1
    assert sizes == {1}


def test_a_workload_without_events_is_refused() -> None:
    with pytest.raises(tamis.TamisError, match="has no events"):
        measured("columnar", dataclasses.replace(SMALL, events=SMALL.events.slice(0, 0)))


def test_options_reach_the_matcher() -> None:
    workload = gryphon(300, 20)
    plain, factored = (
        measure("tree", workload, budget_seconds=0.1, warm=False, options=options)
        for options in (None, {"factor": ("a0",)})
    )
    assert factored.nodes_visited < plain.nodes_visited
    with pytest.raises(tamis.TamisError, match="'columnar' has no options"):
        measure("columnar", workload, warm=False, options={"factor": ("a0",)})
    with pytest.raises(tamis.TamisError, match="no option 'colour'; it has collapse"):
        measure("tree", workload, warm=False, options={"colour": 1})


def test_a_row_is_plain() -> None:
    row = measured("columnar").to_row()
    assert json.loads(json.dumps(row)) == row
    assert row["matcher"] == "columnar"


def test_a_matcher_is_held_to_the_counts_that_a_workload_brings() -> None:
    counts = tamis.compile(SMALL.subscriptions, SMALL.schema).match(SMALL.events).counts
    assert measured("scan", dataclasses.replace(SMALL, expected=counts), budget_seconds=5.0).matches == counts.sum()
    counts[7] += 1
    with pytest.raises(tamis.TamisError, match="scan is wrong on 1 of 50 events of le_subscribe: the first is event 7"):
        measured("scan", dataclasses.replace(SMALL, expected=counts), budget_seconds=5.0)
