"""Bulky payloads are sent when a reading comes into a filter, and not while it stays there."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.joins.client import Kept
from tamis.joins.payload import PAYLOADS, READINGS, PayloadServer
from tamis.joins.schemes.scheme import SCHEMES
from tamis.schema import Schema

SEMIJOINS = [name for name in SCHEMES if "sj" in name]
SCHEMA = Schema.from_dict(
    {
        "attributes": {"camera": "string", "cars": "float", "picture": "string"},
        "event_types": {"shot": {"camera": "mandatory", "cars": "mandatory", "picture": "mandatory"}},
    }
)


def sent(scheme: str, readings: list[float], pictures: list[str]) -> dict[str, list[int]]:
    """At which events a subscription to 4 to 8 cars is sent a reading, and a picture; contents are right throughout."""
    server = PayloadServer(SCHEMA, {"jam": "cars BETWEEN 4 AND 8"}, ["camera"], ["picture"], scheme)
    client = server.server.client("jam")
    found: dict[str, list[int]] = {READINGS: [], PAYLOADS: []}
    for event, (cars, picture) in enumerate(zip(readings, pictures, strict=True)):
        shot: dict[str, Any] = {"camera": "A7", "cars": cars, "picture": picture}
        applied = server.apply([shot])
        assert applied.refused == []
        notes = server.notes(applied, "jam")
        client.apply(notes)
        assert client.content() == ([shot] if 4 <= cars <= 8 else [])
        for part in (part for note in notes for part in note.parts):
            if isinstance(part, Kept) and part.wanted:
                found[part.table].append(event)
    return found


@pytest.mark.parametrize("scheme", SEMIJOINS)
def test_a_payload_is_sent_when_its_reading_enters_the_range(scheme: str) -> None:
    assert sent(scheme, [1, 5, 6, 7, 20, 6], ["p"] * 6)[PAYLOADS] == [1, 5]


@pytest.mark.parametrize("scheme", SEMIJOINS)
def test_another_payload_is_sent_at_once(scheme: str) -> None:
    assert sent(scheme, [5, 6, 6, 1], ["p", "q", "q", "r"])[PAYLOADS] == [0, 1]


def test_readings_are_sent_each_time() -> None:
    assert sent("enum-sj", [5, 6, 7], ["p"] * 3)[READINGS] == [0, 1, 2]
