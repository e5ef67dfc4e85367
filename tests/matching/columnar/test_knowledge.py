"""What the planner makes of statistics: shares of codes, presence, cells of equal weight."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.errors import StatisticsError
from tamis.matching.base.statistics import AttributeStatistics, Statistics
from tamis.matching.columnar.level import ColumnarLevel
from tamis.matching.columnar.plan import LEAST_PRESENCE, UNKNOWN_PRESENCE, Knowledge, learn
from tamis.matching.columnar.planning_kernels import FINEST, share
from tests.matching.columnar.subject import SCHEMA, level_of


def knowledge(level: ColumnarLevel, **attributes: AttributeStatistics) -> Knowledge:
    return learn(level.conjuncts, level.encoder, SCHEMA, Statistics(1000, attributes) if attributes else None)


def test_without_statistics_every_constant_is_as_likely() -> None:
    level = level_of(["s = 'a'", "s = 'b'", "s = 'c'", "s = 'd'"])
    known = knowledge(level)
    assert known.shares.tolist() == [0.25] * 4
    assert known.presence.tolist() == [UNKNOWN_PRESENCE]


def test_heavy_values_have_their_share_and_the_rest_is_spread() -> None:
    level = level_of(["s = 'a'", "s = 'b'", "s = 'c'"])
    known = knowledge(level, s=AttributeStatistics(0.9, {"b": 0.6, "z": 0.2}))
    assert known.shares == pytest.approx([0.1, 0.6, 0.1])
    assert known.presence.tolist() == [0.9]


def test_an_attribute_that_never_came_may_come_yet() -> None:
    level = level_of(["s = 'a'"])
    assert knowledge(level, s=AttributeStatistics(0.0)).presence.tolist() == [LEAST_PRESENCE]


def test_both_attributes_must_be_there_to_be_compared() -> None:
    level = level_of(["n < m"])
    known = knowledge(level, n=AttributeStatistics(0.5), m=AttributeStatistics(0.2))
    assert known.presence == pytest.approx([0.1])


def test_quantiles_cut_cells_of_equal_weight() -> None:
    level = level_of([f"n > {k}" for k in range(1000)])
    known = knowledge(level, n=AttributeStatistics(1.0, {}, tuple(range(100))))
    assert known.edges.shape == (1, 1 << FINEST)
    assert (np.diff(known.edges[0]) >= 0).all()
    assert known.edges[0, -2] <= 2 * 100 + 2  # all of the stream lies below 100


def test_columns_without_ranges_have_no_cells() -> None:
    level = level_of(["n = 1", "m > 1", "s LIKE '%x'"])
    assert knowledge(level).edge_rows.tolist() == [0, -1, -1]
    assert [column.attribute for column in level.encoder.columns] == ["m", "n", "s"]


def test_a_gap_has_a_share_too() -> None:
    shares, starts = np.array([0.5, 0.5]), np.array([0, 2])
    assert share.py_func(0, 1, starts, shares) == 0.5
    assert share.py_func(0, 2, starts, shares) == pytest.approx(1 / 3)
    assert share(0, 5, starts, shares) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "about",
    [AttributeStatistics(1.0, {"a": 0.5}), AttributeStatistics(1.0, {}, tuple("abcdefghij") * 10)],
    ids=["heavy", "quantiles"],
)
def test_statistics_of_another_type_are_refused_by_name(about: AttributeStatistics) -> None:
    with pytest.raises(StatisticsError, match="'n'"):
        level_of([f"n > {k}" for k in range(100)], statistics=Statistics(10, {"n": about}))


def test_nan_in_statistics_is_refused_by_name() -> None:
    about = AttributeStatistics(1.0, {float("nan"): 0.5})
    with pytest.raises(StatisticsError, match="'f'"):
        level_of(["f > 1", "f = 3"], statistics=Statistics(10, {"f": about}))


def test_statistics_of_attributes_nobody_asks_for_are_passed_over() -> None:
    level_of(["n = 1"], statistics=Statistics(10, {"nowhere": AttributeStatistics(1.0, {"x": 1.0})}))
