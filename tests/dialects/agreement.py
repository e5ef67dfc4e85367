"""Whether a converted rule and a direct reading of its language agree on events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tamis

Event = Mapping[str, Any]


def matched(filter: str, schema: tamis.Schema, events: Sequence[Event], matcher: str = "columnar") -> list[bool]:
    """For each event whether the filter holds."""
    index = tamis.compile({"rule": filter}, schema, matcher=matcher)
    assert index.errors == []
    found = set(index.match(list(events)).to_arrow()["event"].to_pylist())
    return [row in found for row in range(len(events))]


def assert_agree(
    filter: str, schema: tamis.Schema, events: Sequence[Event], reading: Callable[[Event], bool], rule: object
) -> None:
    """The filter holds for exactly the events for which the reading holds."""
    wanted = [reading(event) for event in events]
    found = matched(filter, schema, events)
    different = [(event, right) for event, right, got in zip(events, wanted, found, strict=True) if right is not got]
    assert not different, f"{rule!r}\nbecame {filter}\nbut of the rule's own meaning is {different[0]}"


def assert_all_agree(
    filters: Mapping[str, str], schema: tamis.Schema, events: Sequence[Event], reading: Callable[[str, Event], bool]
) -> None:
    """The same for many rules at once, under their ids."""
    index = tamis.compile(dict(filters), schema)
    assert index.errors == []
    matches = index.match(list(events)).to_arrow()
    found = set(zip(matches["event"].to_pylist(), matches["subscription"].to_pylist(), strict=True))
    wanted = {(row, id) for row, event in enumerate(events) for id in filters if reading(id, event)}
    different = [(events[row], id, filters[id]) for row, id in found ^ wanted]
    assert not different, different[:3]
