"""The select-join workload is the one of the paper's Table 2."""

from __future__ import annotations

import numpy as np

from tamis.workloads.select_joins import JOINING_KEYS, KEYS, R_ROWS, S_ROWS, select_joins


def test_tables_have_the_papers_sizes() -> None:
    workload = select_joins(10, 50)
    assert len(workload.s_keys) == S_ROWS
    assert len(np.unique(workload.s_keys)) == JOINING_KEYS
    assert workload.r_rows == R_ROWS
    assert workload.events == 50
    assert set(np.unique(workload.r_keys)) == set(range(KEYS))


def test_seven_events_in_ten_join_something() -> None:
    workload = select_joins(1, 20_000)
    joining = np.isin(workload.r_keys, workload.s_keys).mean()
    assert 0.69 < joining < 0.71


def test_ranges_have_the_papers_centres_and_widths() -> None:
    workload = select_joins(50_000, 1)
    centres, widths = (workload.a_low + workload.a_high) / 2, workload.a_high - workload.a_low
    assert abs(centres[centres < 50_000].mean() - 30_000) < 600
    assert abs(widths.mean() - 20_000) < 200
    centres, widths = (workload.c_low + workload.c_high) / 2, workload.c_high - workload.c_low
    assert abs(centres[centres > 50_000].mean() - 85_000) < 200
    assert (widths >= 0).all()


def test_tables_do_not_depend_on_the_number_of_subscriptions() -> None:
    few, many = select_joins(10, 100, seed=3), select_joins(1_000, 100, seed=3)
    assert (few.s_values == many.s_values).all()
    assert (few.r_values == many.r_values).all()
    assert (few.r_keys == many.r_keys).all()


def test_another_seed_is_another_workload() -> None:
    one, other = select_joins(10, 10, seed=1), select_joins(10, 10, seed=2)
    assert (one.a_low != other.a_low).any()
    assert (one.s_values != other.s_values).any()
    assert (one.a_low == select_joins(10, 10, seed=1).a_low).all()


def test_subscriptions_can_be_read_as_text() -> None:
    text = select_joins(1, 1).texts()["filter"][0].as_py()
    assert text.startswith("SELECT * FROM R JOIN S USING (B) WHERE R.A BETWEEN ")


def test_smaller_spreads_bring_centres_together() -> None:
    wide, narrow = (select_joins(5_000, 1, seed=1, spreads=spreads) for spreads in ((13_000, 7_500), (1_000, 1_500)))
    for low, high in (("a_low", "a_high"), ("c_low", "c_high")):
        centres = [(getattr(one, low) + getattr(one, high)) / 2 for one in (wide, narrow)]
        assert centres[0].std() > centres[1].std()
