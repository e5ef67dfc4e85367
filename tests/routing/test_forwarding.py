"""What a neighbour is told adds up to what is forwarded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.language import Filter
from tamis.routing.merging import MergePolicy, MergingTable
from tamis.routing.standing.forwarding import CoveringForwarding, Forwarding, SimpleForwarding, Telling
from tests.generated import cases
from tests.routing.covering.small_worlds import SCHEMA, conditions, conjunctions, normal, really_covers

EVERY: dict[str, Callable[[], Forwarding]] = {
    "simple": SimpleForwarding,
    "covering": lambda: CoveringForwarding(SCHEMA),
    "merging": lambda: MergingTable(SCHEMA, MergePolicy(every=2)),
}
every_forwarding = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
_FILTERS = conjunctions(conditions(["i", "s"]), 2).map(normal)


@every_forwarding
@given(steps=st.lists(st.tuples(_FILTERS, st.booleans()), max_size=20))
@settings(max_examples=cases(40))
def test_told_changes_add_up_and_no_event_is_missed(
    make: Callable[[], Forwarding], steps: list[tuple[Filter, bool]]
) -> None:
    forwarding, standing, told = make(), dict[str, Filter](), dict[str, Filter]()
    for number, (filter, remove) in enumerate(steps):
        if remove and standing:
            id = next(iter(standing))
            del standing[id]
            change = forwarding.remove(id)
        else:
            standing[f"s{number}"] = filter
            change = forwarding.insert(f"s{number}", filter)
        told |= dict(change.subscribe)
        # Before anything is forgotten, and after it, whatever stands is covered.
        for stage in range(2):
            for each in standing.values():
                if not really_covers(normal("i = 1 AND i = 3"), each):
                    assert any(really_covers(other, each) for other in told.values()), stage
            for id in change.unsubscribe if stage == 0 else ():
                del told[id]
        assert told == dict(forwarding.forwarded())
        assert len(forwarding) == len(standing)
        assert all(id in forwarding for id in standing)


@every_forwarding
def test_an_id_stands_once(make: Callable[[], Forwarding]) -> None:
    forwarding = make()
    forwarding.insert("a", normal("i = 1"))
    with pytest.raises(ValueError, match="remove it first"):
        forwarding.insert("a", normal("i = 2"))


def test_what_is_taken_back_before_it_was_told_is_not_told() -> None:
    telling = Telling()
    telling.subscribe("a", normal("i = 1"))
    telling.unsubscribe("a")
    telling.unsubscribe("b")
    telling.subscribe("b", normal("i = 2"))
    assert not telling.change()
