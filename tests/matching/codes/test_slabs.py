"""A buffer is used again when nobody holds what was written to it, and not before."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis.matching.codes import level as module
from tamis.matching.codes.level import KEPT, Slabs
from tests.matching.columnar.subject import SCHEMA, level_of, matches_of


def address(array: np.ndarray[tuple[int], np.dtype[np.int32]]) -> int:
    return int(array.ctypes.data)


def test_a_slab_that_was_given_back_is_given_out_again() -> None:
    slabs = Slabs()
    first = slabs.take(1000)
    where = address(first)
    del first
    assert address(slabs.take(1000)) == where
    assert address(slabs.take(10)) == where
    assert address(slabs.take(1001)) != where


def test_a_slab_in_use_is_left_alone() -> None:
    slabs = Slabs()
    slab = slabs.take(1000)
    where = address(slab)
    assert address(slabs.take(1000)) != where
    views = [slab[3:7], slab.reshape(10, 100)[2], pa.array(slab[:50]), slab.data]
    del slab
    while views:
        assert all(address(slabs.take(1000)) != where for _ in range(2))
        views.pop()
    assert where in {address(slabs.take(1000)), address(slabs.take(1001)), address(slabs.take(1000))}


def test_few_slabs_are_kept() -> None:
    slabs = Slabs()
    held = [slabs.take(100) for _ in range(3 * KEPT)]
    assert len({address(slab) for slab in held}) == 3 * KEPT
    assert len(slabs._slabs) == KEPT


def test_answers_that_are_still_held_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DIRECT", 10)
    level = level_of([f"n >= {k}" for k in range(100)])
    batches = [[{"n": (17 * k + shift) % 120} for k in range(50)] for shift in range(8)]
    expected = [matches_of(level_of([f"n >= {k}" for k in range(100)]), batch).to_lists() for batch in batches]
    held = [matches_of(level, batch) for batch in batches]
    raw = level.match(SCHEMA.to_arrow(batches[0]), held[0].work)[0].numbers[5:]  # and so does what is made of them
    before = raw.copy()
    for _ in range(3):
        for batch in batches:
            matches_of(level, batch)
    assert [matches.to_lists() for matches in held] == expected
    assert (raw == before).all()
