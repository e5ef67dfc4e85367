"""Counts that others found by brute force: 245,190 quotes against 10,000 subscriptions, 214,155,902 pairs."""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import tamis
from tamis.workloads import Workload
from tamis.workloads.stock_quotes import expected_matches, stock_quotes
from tests.contract.every import every_matcher

FOLDER = os.environ.get("TAMIS_STOCK_QUOTES", "")
PAIRS = 214_155_902
SAMPLED = 500  # the oracle takes every so many-th quote: all of them would take it hours

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not FOLDER, reason="TAMIS_STOCK_QUOTES names no folder of stock quotes"),
]


@cache
def _quotes() -> Workload:
    return stock_quotes(FOLDER)


@every_matcher
def test_every_quote_and_every_subscription_has_the_expected_number_of_matches(matcher: str) -> None:
    workload = _quotes()
    index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
    assert index.errors == []
    if matcher == "naive":
        rows = np.arange(0, len(workload.events), SAMPLED)
        counts = index.match(workload.events.take(pa.array(rows))).counts
        assert np.array_equal(counts, expected_matches(FOLDER, "event")[rows])
        return
    per_event, per_subscription = [], dict.fromkeys(workload.subscriptions["id"].to_pylist(), 0)
    for batch in workload.batches():
        matches = index.match(batch)
        per_event.append(matches.counts)
        names = matches.names.to_pylist()
        for number, count in enumerate(np.bincount(matches.numbers, minlength=len(names)).tolist()):
            per_subscription[names[number]] += count
    assert np.array_equal(np.concatenate(per_event), expected_matches(FOLDER, "event"))
    assert list(per_subscription.values()) == expected_matches(FOLDER, "subscription").tolist()
    assert sum(per_subscription.values()) == PAIRS
