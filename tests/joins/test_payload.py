"""Bulky payloads are sent when a reading comes into a range, and not while it stays there."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.joins.payload import PAYLOADS, READINGS, PayloadSplit, payload_ranges, payload_shape
from tamis.joins.schemes.messages import Operation, accepts
from tamis.joins.schemes.scheme import SCHEMES

SEMIJOINS = [name for name in SCHEMES if "sj" in name]


def payloads_received(name: str, readings: list[float], payloads: list[int], low: float, high: float) -> list[int]:
    """At which events a subscription to [low, high] gets the payload of one thing."""
    shape = payload_shape(1)
    scheme = SCHEMES[name](shape)
    scheme.subscribe(ranges := payload_ranges([[low]], [[high]]))
    split = PayloadSplit(scheme)
    received = []
    for event, (reading, payload) in enumerate(zip(readings, payloads, strict=True)):
        messages = scheme.change(split.changes(np.array([7]), [[reading]], np.array([payload])))
        for m in range(len(messages)):
            part = messages.tuples(m)
            inserted = (messages.table[part] == PAYLOADS) & (messages.operation[part] == Operation.INSERT)
            if inserted.any() and accepts(messages, m, ranges, shape)[0]:
                received.append(event)
    return received


@pytest.mark.parametrize("name", SEMIJOINS)
def test_a_payload_is_sent_when_its_reading_enters_the_range(name: str) -> None:
    assert payloads_received(name, [1, 5, 6, 7, 20, 6], [0] * 6, 4, 8) == [1, 5]


@pytest.mark.parametrize("name", SEMIJOINS)
def test_another_payload_is_sent_at_once(name: str) -> None:
    assert payloads_received(name, [5, 6, 6, 1], [0, 1, 1, 2], 4, 8) == [0, 1]


def test_readings_are_sent_each_time() -> None:
    scheme = SCHEMES["enum-sj"](payload_shape(1))
    scheme.subscribe(payload_ranges([[0.0]], [[10.0]]))
    split = PayloadSplit(scheme)
    for reading in (1.0, 2.0, 3.0):
        messages = scheme.change(split.changes(np.array([0]), [[reading]], np.array([0])))
        assert ((messages.table == READINGS) & (messages.operation == Operation.INSERT)).sum() == 1
