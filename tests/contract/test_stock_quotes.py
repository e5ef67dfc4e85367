"""Counts that others found by brute force: 245,190 quotes against 10,000 subscriptions."""

from __future__ import annotations

import os

import numpy as np
import pytest

import tamis
from tamis.workloads.stock_quotes import expected_matches, stock_quotes

FOLDER = os.environ.get("TAMIS_STOCK_QUOTES")


@pytest.mark.slow
@pytest.mark.skipif(FOLDER is None, reason="TAMIS_STOCK_QUOTES names no folder of stock quotes")
def test_every_quote_and_every_subscription_has_the_expected_number_of_matches() -> None:
    assert FOLDER is not None
    workload = stock_quotes(FOLDER)
    index = tamis.compile(workload.subscriptions, workload.schema)
    assert index.errors == []
    counts, per_subscription = [], dict.fromkeys(workload.subscriptions["id"].to_pylist(), 0)
    for batch in workload.batches():
        matches = index.match(batch)
        counts.append(matches.counts)
        names = matches.names.to_pylist()
        for number, count in enumerate(np.bincount(matches.numbers, minlength=len(names)).tolist()):
            per_subscription[names[number]] += count
    assert np.array_equal(np.concatenate(counts), expected_matches(FOLDER, "event"))
    assert list(per_subscription.values()) == expected_matches(FOLDER, "subscription").tolist()
