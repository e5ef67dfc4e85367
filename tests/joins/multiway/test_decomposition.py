"""Choosing who filters whom: never worse than any other choice, and costs that mean what they say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.joins.index.ranges import Ranges, Shape
from tamis.joins.multiway import (
    Sample,
    decomposed,
    filtering_of,
    most_selective_first,
    parametric_costs,
    sampled_costs,
    total_cost,
)
from tests.generated import cases

STAR = Shape((1, 1, 1, 1), ((0, 1), (1, 2), (1, 3)), signatures=((0,), (0, 1), (0, 1, 2), (1, 2)))
CYCLE = Shape((1, 1, 1), ((0, 1), (1, 2), (0, 2)), signatures=((0, 1, 2), (0, 2), (1,)))


def all_choices(shape: Shape) -> list[list[tuple[int, int, list[int]]]]:
    return [
        [
            (signature, table, [edge for edge in edges if table in shape.edges[edge]])
            for table in shape.tables_of(signature)
        ]
        for signature, edges in enumerate(shape.signatures)
    ]


@pytest.mark.parametrize("shape", [STAR, CYCLE])
@settings(max_examples=cases(60), deadline=None)
@given(data=st.data())
def test_no_other_decomposition_costs_less(shape: Shape, data: st.DataObject) -> None:
    costs = np.array(data.draw(st.lists(st.floats(0, 10), min_size=shape.groups, max_size=shape.groups)))
    signature = np.array(data.draw(st.lists(st.integers(0, len(shape.signatures) - 1), min_size=1, max_size=6)))
    chosen = decomposed(shape, costs)
    ours = total_cost(shape, costs, filtering_of(chosen, signature))
    slots = [slot for slots in all_choices(shape) for slot in slots]
    for choice in product(*(edges for _, _, edges in slots)):
        other = np.full_like(chosen, -1)
        for (which, table, _), edge in zip(slots, choice, strict=True):
            other[which, table] = edge
        assert ours <= total_cost(shape, costs, filtering_of(other, signature)) + 1e-9


def test_every_table_of_a_signature_is_filtered_by_an_edge_of_it() -> None:
    chosen = decomposed(STAR, np.arange(STAR.groups, dtype=float))
    for signature, edges in enumerate(STAR.signatures):
        for table in range(STAR.tables):
            edge = chosen[signature, table]
            assert (edge >= 0) == (table in STAR.tables_of(signature))
            if edge >= 0:
                assert edge in edges
                assert table in STAR.edges[edge]


def test_the_parametric_model_is_what_uniform_data_give() -> None:
    # The share of intervals [x, y] that hold a value, that hold one of j values, and that hold a new one and none of j.
    rng = np.random.default_rng(5)
    ends = np.sort(rng.random((4000, 2)), axis=1)
    for j in (1, 4, 20):
        rows, new = rng.random((300, j)), rng.random(300)
        holds = [(ends[:, :1] <= values) & (values <= ends[:, 1:]) for values in rows]
        reached = np.mean([held.any(axis=1).mean() for held in holds])
        alone = np.mean(
            [
                ((ends[:, 0] <= value) & (value <= ends[:, 1]) & ~held.any(axis=1)).mean()
                for value, held in zip(new, holds, strict=True)
            ]
        )
        shape = Shape((1, 1), ((0, 1),))
        told = parametric_costs(shape, [1, 0], [[7, j]])[0]
        exposed = parametric_costs(shape, [0, 1], [[7, j]])[0]
        assert told == pytest.approx(reached / 3, rel=0.05)
        assert exposed == pytest.approx(7 * alone / 3, rel=0.15)


def test_a_trial_prefers_the_filter_that_few_rows_pass() -> None:
    # R joins S and T by keys of their own. S has a row for every key, T for one in ten.
    rng = np.random.default_rng(2)
    shape = Shape((1, 1, 1), ((0, 1), (0, 2)), signatures=((0, 1),))
    count = 200
    low = rng.random((count, 3)) / 2
    subscriptions = Ranges.of(shape, low, low + 0.5, np.zeros((count, 3)), np.zeros(count))
    keys = np.arange(100)
    sample = Sample(
        values=[rng.random((400, 1)), rng.random((100, 1)), rng.random((10, 1))],
        keys=[rng.integers(0, 100, (400, 2)), keys[:, None], keys[:10, None]],
        inserted=[(0, row) for row in range(300, 400)],
    )
    costs = sampled_costs(shape, subscriptions, sample)
    assert costs[2] < costs[0] / 3
    assert decomposed(shape, costs)[0, 0] == 1


def test_the_attribute_that_fewest_rows_pass_leads() -> None:
    values = np.column_stack([np.arange(100.0), np.arange(100.0), np.arange(100.0)])
    low = np.array([[0.0, 40.0, 10.0]] * 3)
    high = np.array([[99.0, 45.0, 60.0]] * 3)
    assert most_selective_first(low, high, values).tolist() == [1, 2, 0]
