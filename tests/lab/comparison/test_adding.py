"""What one subscription more costs, whenever it is paid."""

from __future__ import annotations

import time
from typing import Any

import pytest

import tamis
from tamis.lab.comparison import measure_adding
from tamis.workloads import le_subscribe

LARGE = le_subscribe(260, 5, seed=3)
EXTRA = LARGE.subscriptions.slice(200)
WORKLOAD = type(LARGE)("small", LARGE.schema, LARGE.subscriptions.slice(0, 200), LARGE.events)


@pytest.mark.parametrize("matcher", ["columnar", "gough", "tree"])
def test_all_are_added_where_there_is_time(matcher: str) -> None:
    found = measure_adding(matcher, WORKLOAD, EXTRA.slice(0, 5), budget_seconds=60.0, warm=False)
    assert (found.matcher, found.workload, found.present, found.added) == (matcher, "small", 200, 5)
    assert found.worst_seconds >= found.seconds_per_add > 0
    assert found.to_row()["between"] == 1


def test_one_is_added_however_small_the_budget_is() -> None:
    assert measure_adding("columnar", WORKLOAD, EXTRA, budget_seconds=0.0, warm=False).added == 1


def test_what_is_put_off_to_a_match_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding takes a second by this clock, the first match after it ten, and any other match three."""
    now, waiting = 0.0, False
    add, match = tamis.Index.add, tamis.Index.match

    def adding(index: tamis.Index, new: Any) -> Any:
        nonlocal now, waiting
        now, waiting = now + 1, True
        return add(index, new)

    def matching(index: tamis.Index, events: Any) -> Any:
        nonlocal now, waiting
        now, waiting = now + (10 if waiting else 3), False
        return match(index, events)

    monkeypatch.setattr(tamis.Index, "add", adding)
    monkeypatch.setattr(tamis.Index, "match", matching)
    monkeypatch.setattr(time, "process_time", lambda: now)
    found = measure_adding("columnar", WORKLOAD, EXTRA, budget_seconds=1e9, warm=False)
    assert (found.added, found.seconds_per_call, found.seconds_per_add, found.worst_seconds) == (60, 1, 8, 8)
    seldom = measure_adding("columnar", WORKLOAD, EXTRA, budget_seconds=1e9, warm=False, between=10)
    assert seldom.seconds_per_add == pytest.approx(1 + 7 / 10)


def test_nothing_to_add_is_refused() -> None:
    with pytest.raises(tamis.TamisError, match="nothing to add"):
        measure_adding("columnar", WORKLOAD, EXTRA.slice(0, 0))
