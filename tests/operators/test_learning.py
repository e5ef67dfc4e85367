"""What events teach orders the calls of those that follow: in one process, within one batch, from the first plan on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import tamis
from tamis.operators.schedules import SCHEDULES

SCHEMA = tamis.Schema.from_dict({"attributes": {"n": "integer"}, "event_types": {"e": {"n": "mandatory"}}})
LEARNING = ["sub-order", "adaptive"]
EVENTS = [{"n": number} for number in range(2_048)]
FILTERS = {f"f{number}": f"often({number}, 1) AND often({number}, 2) AND often({number}, 3)" for number in range(8)}
"""Each can be decided by one call; no order in which they were written says by which."""


def rarely(n: int, salt: int) -> bool:
    return (n * 7 + salt) % 50 == 0


class Often:
    """Holds always, but for one of three, which hardly ever does. Counts the calls of each event."""

    def __init__(self, **declared: Any) -> None:
        self.calls = [0] * len(EVENTS)

        @tamis.operator(cost=1.0, **declared)
        def often(n: int, salt: int, which: int) -> bool:
            self.calls[n] += 1
            return which != 1 + salt % 3 or rarely(n, salt)

        self.operator = often

    def each(self, first: int, end: int) -> float:
        """Calls an event of some."""
        return sum(self.calls[first:end]) / (end - first)


def compiled(operator: tamis.Operator, schedule: str) -> tamis.Index:
    return tamis.compile(FILTERS, SCHEMA, operators=[operator], schedule=schedule)


def right(matches: Any, first: int) -> bool:
    wanted = [[f"f{k}" for k in range(8) if rarely(first + row, k)] for row in range(len(matches.to_lists()))]
    return [sorted(ids) for ids in matches.to_lists()] == wanted


@pytest.mark.parametrize("schedule", LEARNING)
def test_a_process_plans_anew_by_what_its_own_events_teach(schedule: str) -> None:
    often = Often()
    index = compiled(often.operator, schedule)
    for first in range(0, 512, 64):
        assert right(index.match(EVENTS[first : first + 64]), first)
    assert often.each(0, 64) > 13
    assert often.each(128, 512) < 8.8  # 8 decide all that does not match


@pytest.mark.parametrize("schedule", LEARNING)
def test_a_large_batch_learns_from_its_first_events(schedule: str) -> None:
    often = Often()
    assert right(compiled(often.operator, schedule).match(EVENTS), 0)
    assert often.each(0, 64) > 13
    assert often.each(128, 2_048) < 8.8


def test_batches_grow_to_their_full_size_as_they_teach() -> None:
    sizes: list[int] = []

    @tamis.operator(batch=True)
    def odd(n: pa.Array) -> list[bool]:
        sizes.append(len(n))
        return [one % 2 == 1 for one in n.to_pylist()]

    index = tamis.compile({"odd": "odd()"}, SCHEMA, operators=[odd])
    index.match(EVENTS * 4)
    assert sizes == [64, 128, 256, 512, 1_024, 2_048, 2_048, 2_048, 64]
    sizes.clear()
    index.match(EVENTS * 2)
    assert sizes == [2_048, 2_048]


def test_events_that_no_operator_is_asked_about_are_taken_in_few_batches() -> None:
    sizes: list[int] = []

    @tamis.operator(batch=True)
    def odd(n: pa.Array) -> list[bool]:
        sizes.append(len(n))
        return [one % 2 == 1 for one in n.to_pylist()]

    index = tamis.compile({"odd": "n >= 1960 AND odd()"}, SCHEMA, operators=[odd])
    assert len(index.match(EVENTS)) == 44
    assert sizes == [24, 64]  # the ends of five chunks, from 64 events to 1,024, and of what is left


def test_sub_order_plans_anew_once_beliefs_have_moved_and_not_with_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    from tamis.operators.schedules.sub_order import SubOrder

    planned: list[int] = []
    replan: Callable[[SubOrder], None] = SubOrder.replan
    monkeypatch.setattr(SubOrder, "replan", lambda self: (planned.append(len(planned)), replan(self))[1])
    index = compiled(Often().operator, "sub-order")
    for first in range(0, 2_048, 64):
        index.match(EVENTS[first : first + 64])
    assert 2 <= len(planned) <= 12  # of 33: the first plan, and after each batch


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_matching_the_same_events_again_asks_the_same(schedule: str) -> None:
    """A plan depends on what was declared and on the events in their order; on no clock, where costs are declared."""
    runs = []
    for _ in range(2):
        often = Often()
        index = compiled(often.operator, schedule)
        for first, end in ((0, 700), (700, 701), (701, 2_048)):
            index.match(EVENTS[first:end])
        runs.append(often.calls)
    assert runs[0] == runs[1]
