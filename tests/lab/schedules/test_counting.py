"""The counts of the paper's figures, on points small enough for a test, and its last point with few events."""

from __future__ import annotations

import pytest

from tamis.lab.schedules.counting import bounds, evaluations, printed, recovery
from tamis.workloads.expensive_operators import Parameters, figure

SMALL = [
    Parameters(4000, 2000, alpha=None),
    Parameters(4000, 2000, alpha=1.0),
    Parameters(4000, 1000, alpha=1.0, longest=9),
    Parameters(4000, 2000, alpha=None, costs="spread"),
]


@pytest.mark.parametrize("parameters", SMALL, ids=["uniform", "zipf", "long", "unequal-costs"])
def test_the_better_schedule_costs_less_and_none_beats_the_bound(parameters: Parameters) -> None:
    names = ("adaptive", "sub-order", "sequential", "naive")
    costs = [evaluations(name, parameters, events=100).mean_cost for name in names]
    assert costs == sorted(costs)
    assert costs[0] <= 0.8 * costs[2]
    few = evaluations("adaptive", parameters, events=20)
    assert bounds(parameters, events=20).foreseeing_nothing <= few.mean_cost


def test_all_schedules_find_the_same_matches_and_as_many_as_the_table_says() -> None:
    counts = [evaluations(name, SMALL[0], events=200) for name in ("naive", "sequential", "sub-order", "adaptive")]
    for other in counts[1:]:
        assert (other.matches == counts[0].matches).all()
    assert counts[0].matches.mean() == pytest.approx(0.002 * 4000, rel=0.1)


def test_the_same_parameters_give_the_same_counts() -> None:
    first, second = (evaluations("adaptive", SMALL[1], events=60) for _ in range(2))
    assert (first.evaluations == second.evaluations).all()


@pytest.mark.parametrize("parameters", SMALL[:3], ids=["uniform", "zipf", "long"])
def test_what_algorithm_1_returns_as_printed_is_more_than_it_evaluates_and_less_than_is_in_use(
    parameters: Parameters,
) -> None:
    count = evaluations("sequential", parameters, events=40).mean
    other = printed(parameters, events=40)
    assert other.taken_up < count < other.returned < other.in_use <= parameters.predicates
    assert other.taken_up >= bounds(parameters, events=40).theorem_2 * 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"), [("naive", 31_800), ("sequential-stopping", 19_800), ("sequential", 21_050)]
)
def test_the_last_point_of_figure_4_is_as_simulated(name: str, expected: float) -> None:
    assert evaluations(name, figure(4)[-1], events=20).mean == pytest.approx(expected, rel=0.01)


def test_adaptive_recovers_from_selectivities_wrong_by_ten_and_from_drift_within_a_thousand_events() -> None:
    rows = recovery(Parameters(3000, 1000, alpha=1.0), events=2400, drift_from=1000, drift_until=1400)
    wrong = [row for row in rows if row.first < 1000]
    assert wrong[0].unlearning > 1.1 * wrong[0].informed
    assert wrong[0].learning > 1.02 * wrong[0].informed
    assert wrong[-1].learning < 1.03 * wrong[-1].informed
    assert rows[-1].unlearning > 1.1 * rows[-1].informed
    assert rows[-1].learning < 1.03 * rows[-1].informed
