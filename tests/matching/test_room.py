"""Arrays that grow keep what they have, and have the room that was asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.base.flat_arrays import doubled, extended


@given(st.integers(0, 20), st.integers(0, 60), st.sampled_from([(), (2,)]))
def test_an_extended_array_begins_as_before_and_goes_on_with_zeros(
    rows: int, wanted: int, width: tuple[int, ...]
) -> None:
    array = np.ones((rows, *width), np.int32)
    longer = extended(array, wanted)
    assert len(longer) == (rows if wanted <= rows else max(wanted, 2 * rows))
    assert (longer.dtype, longer.shape[1:]) == (array.dtype, array.shape[1:])
    assert (longer[:rows] == 1).all()
    assert (longer[rows:] == 0).all()


def test_room_that_is_there_costs_no_copy() -> None:
    array = np.ones(4, np.int8)
    assert extended(array, 4) is array
    assert doubled(array).tolist() == [1] * 4 + [0] * 4
