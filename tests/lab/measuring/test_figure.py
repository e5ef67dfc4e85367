"""Verdicts and grids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.lab.measuring import Check, Outcome, Verdict, budget, scaled


@pytest.mark.parametrize(
    ("held", "outcome"),
    [
        ([True, True], Outcome.REPRODUCED),
        ([True, False], Outcome.PARTLY),
        ([False, False], Outcome.NOT),
        ([True, None], Outcome.REPRODUCED),
        ([False, None], Outcome.NOT),
    ],
)
def test_a_claim_is_reproduced_if_every_check_holds_and_partly_if_some_do(
    held: list[bool | None], outcome: Outcome
) -> None:
    assert Verdict([Check("", "", "", holds) for holds in held], "").outcome is outcome


@given(st.lists(st.integers(1, 10**7), min_size=1), st.floats(1e-6, 1), st.integers(1, 100))
def test_a_scaled_grid_is_ascending_without_repeats_and_not_below_the_least(
    sizes: list[int], scale: float, least: int
) -> None:
    found = scaled(sizes, scale, least)
    assert found == sorted(set(found))
    assert found[0] >= least
    assert found[-1] <= max(least, *sizes)


def test_a_grid_at_scale_one_has_the_sizes_themselves() -> None:
    assert scaled([1_000, 10], 1.0) == [10, 1_000]


def test_less_time_goes_into_a_point_that_is_tried_out_but_some() -> None:
    assert budget(10, 1) == 10
    assert budget(10, 0.1) == 1
    assert budget(10, 1e-6) == 0.02
    assert budget(10, 5) == 10
