"""A message's region holds exactly the subscriptions whose filters accept it, for every scheme."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.joins.index.messages import accepts
from tamis.joins.index.ranges import Ranges, Shape
from tamis.joins.schemes.scheme import SCHEMES
from tamis.lab.simulation.spaces import PayloadNumbers, Spaces, post_of, regions_of
from tests.generated import cases
from tests.joins.histories import History, drawn_ranges
from tests.joins.reference import World
from tests.joins.test_schemes import BINARY, CHAIN, TRIANGLE

SHAPES = {"binary": BINARY, "chain": CHAIN, "triangle": TRIANGLE}


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=cases(20), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shape=st.sampled_from(sorted(SHAPES)))
def test_regions_hold_whom_filters_accept(scheme: str, seed: int, shape: str) -> None:
    rng = np.random.default_rng(seed)
    form, signatures = SHAPES[shape]
    running = SCHEMES[scheme](form)
    ranges = drawn_ranges(rng, form, signatures, 30, 8)
    running.subscribe(ranges)
    history = History(rng, running, World(form), 8, 2)
    spaces = Spaces(form, ranges)
    payloads = PayloadNumbers(form)
    for _ in range(3):
        changes = history.changes(8)
        payloads.follow(changes)
        messages = running.change(changes)
        numbers = spaces.of(messages)
        for m in range(len(messages)):
            space = spaces.spaces[int(numbers[m])]
            post = post_of(messages, np.array([m]), form, space, payloads, 100)
            assert int(post.whole_size[0]) == int(messages.sizes(form, 100)[m])
            if messages.subscription[m] >= 0:
                assert len(post.regions.low) == 0
                continue
            held = post.regions.hold(0, space.points) & space.members
            assert held.tolist() == accepts(messages, m, ranges, form).tolist()
        history.forget()


def test_payloads_of_rows_that_take_a_number_over_are_others() -> None:
    payloads = PayloadNumbers(Shape((1, 1), ((0, 1),)))
    payloads.loaded(0, np.array([0, 1]))
    payloads.loaded(1, np.array([0]))
    before = payloads.of(np.array([0, 0, 1]), np.array([0, 1, 0])).tolist()
    payloads.loaded(0, np.array([1]))
    after = payloads.of(np.array([0, 0, 1]), np.array([0, 1, 0])).tolist()
    assert len({*before, *after}) == 4
    assert [before[0], before[2]] == [after[0], after[2]]


def test_several_attributes_a_table_are_not_routed_by() -> None:
    shape = Shape((2, 1), ((0, 1),), considered=(2, 1))
    with pytest.raises(ValueError, match="one attribute a table"):
        Spaces(shape, Ranges.of(shape, np.zeros((1, 3)), np.ones((1, 3)), np.zeros((1, 2)), np.zeros(1)))


def test_regions_of_no_messages_are_none() -> None:
    scheme = SCHEMES["ref-sj-clu+"](BINARY[0])
    history = History(np.random.default_rng(1), scheme, World(BINARY[0]), 8, 2)
    messages = scheme.change(history.changes(1))
    spaces = Spaces(BINARY[0], scheme.state.subscriptions)
    assert spaces.of(messages).tolist() == []
    assert len(regions_of(messages, np.empty(0, np.int64), BINARY[0], spaces.spaces[0]) if spaces.spaces else []) == 0
