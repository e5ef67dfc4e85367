"""Mixes of multi-way joins over networks: decompositions choose who filters, and nobody misses a message."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.joins.multiway import decomposed
from tamis.lab.simulation.joins import MIX_SHAPE, simulate_mix
from tamis.lab.simulation.simulation import overlay_of
from tamis.workloads.select_joins import DIMENSIONS, FACTS, JOINING, MIX_KEYS, S, join_mix

EVEN = decomposed(MIX_SHAPE, np.ones(MIX_SHAPE.groups))


@pytest.mark.parametrize("star", [False, True])
def test_tables_have_the_rows_of_the_schema(star: bool) -> None:
    mix = join_mix(50, 1, star=star, scale=0.001)
    rows = [len(values) for values in mix.values]
    assert rows == ([DIMENSIONS, FACTS, DIMENSIONS, DIMENSIONS] if star else [MIX_KEYS * count for count in JOINING])
    assert [keys.shape[1] for keys in mix.keys] == [1, 3, 1, 1]
    assert (mix.replacing == ((mix.table != S) & star)).all()
    assert (mix.low <= mix.high).all()


def test_facts_join_one_row_of_every_dimension() -> None:
    mix = join_mix(40, 2, star=True, scale=0.001)
    for table in (0, 2, 3):
        assert sorted(mix.keys[table][:, 0].tolist()) == list(range(DIMENSIONS))
    dimension = mix.table == 2
    assert mix.coming_keys[dimension, 1].tolist() == list(range(int(dimension.sum())))


# Results of four tables in the general schema are too many for schemes that send results.
@pytest.mark.parametrize(
    ("scheme", "star"),
    [
        ("rel-sel", False),
        ("ref-sj-clu+", False),
        *((name, True) for name in ("rel-sel", "ref-sj-clu+", "ref-j", "enum-j")),
    ],
)
def test_mixes_run_through_both_networks_alike(scheme: str, star: bool) -> None:
    mix = join_mix(12, 3, star=star, scale=0.01)
    overlay = overlay_of(12, 60, 1)
    one, other = (
        simulate_mix(scheme, mix, overlay, EVEN, events=12, network=network) for network in ("zones", "links")
    )
    assert one.injected == other.injected > 0
    assert one.injected_bytes == other.injected_bytes


def test_tables_that_are_not_bulky_carry_no_payload() -> None:
    mix = join_mix(6, 4, star=True, scale=0.002)
    overlay = overlay_of(12, 60, 1)
    bare, none = (
        simulate_mix("rel-sel", mix, overlay, EVEN, events=6, payload=payload, bulky=bulky)
        for payload, bulky in ((1_000, ()), (0, (0, 1, 2, 3)))
    )
    assert bare.injected_bytes == none.injected_bytes
    assert bare.bytes == none.bytes
