"""The figures themselves: what every one of them must have, and that each can be run, drawn and judged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis.errors import TamisError
from tamis.lab.experiments.p0.drift import until_recovered
from tamis.lab.experiments.p1 import trees
from tamis.lab.experiments.reporting import FIGURES, PAPERS, chosen
from tamis.lab.measuring import Figure, Point, Row, save
from tamis.workloads.papers import ATTRIBUTES, POPULARITY

pytest.importorskip("matplotlib", reason="the Spark extra is not installed")

ROOT = Path(__file__).resolve().parents[3]
every_figure = pytest.mark.parametrize("figure", FIGURES.values(), ids=list(FIGURES))


@every_figure
def test_a_figure_stands_in_a_file_of_its_own_under_its_paper(figure: Figure) -> None:
    paper, _, name = figure.name.partition("/")
    assert (ROOT / "src/tamis/lab/experiments" / paper / f"{name.replace('-', '_')}.py").exists()


@every_figure
@pytest.mark.parametrize("scale", [1.0, 0.01, 1e-6])
def test_a_grid_has_points_no_two_alike_that_can_be_written_down(figure: Figure, scale: float) -> None:
    points = [json.dumps(dict(point), sort_keys=True) for point in figure.grid(scale)]
    assert points
    assert len(set(points)) == len(points)


@every_figure
def test_a_grid_is_the_same_each_time(figure: Figure) -> None:
    assert figure.grid(1.0) == figure.grid(1.0)


def test_figures_are_chosen_by_name_or_by_paper() -> None:
    assert [figure.name for figure in chosen(["p2/figure-9"])] == ["p2/figure-9"]
    (paper,) = (paper for paper in PAPERS if paper.name == "p1")
    assert [figure.name for figure in chosen(["p1"])] == [figure.name for figure in paper.figures]
    assert [figure.name for figure in chosen(["p1", "p1/cost"])] == [figure.name for figure in paper.figures]
    assert [figure.name for figure in chosen([])] == list(FIGURES)


def test_a_figure_that_does_not_exist_is_named_beside_those_that_do() -> None:
    with pytest.raises(TamisError, match="there is no figure 'p2/figure-99'; there are p0/figure-4, "):
        chosen(["p2/figure-99"])


def test_the_grids_reach_the_sizes_that_the_papers_name() -> None:
    def sizes(name: str) -> set[int]:
        return {int(point["subscriptions"]) for point in FIGURES[name].grid(1)}

    assert 400_000 in sizes("p2/figure-9")
    assert sizes("p2/figure-10") == {800_000}
    assert {point["p"] for point in FIGURES["p2/figure-10"].grid(1)} >= {0.0, 0.5, 1.0}
    assert 3_200_000 in sizes("p2/adding")
    assert {1_000, 1_000_000} <= sizes("p1/cost")
    assert {2_000, 80_000} <= sizes("p0/figure-4") & sizes("p0/figure-5")
    assert {point["predicates"] for point in FIGURES["p0/figure-6"].grid(1)} >= {2_000, 30_000}
    assert {point["longest"] for point in FIGURES["p0/figure-7"].grid(1)} == {5, 7, 9, 11}
    assert {point["alpha"] for point in FIGURES["p0/figure-8"].grid(1)} == {0.0, 0.8, 1.0, 1.2}
    assert {100_000, 1_000_000} <= sizes("p3/figure-5") & sizes("p3/figure-6") & sizes("p3/figure-17")
    assert {100_000, 300_000, 500_000} <= sizes("p3/table-3") & sizes("p3/table-4")
    assert sizes("p4/figure-12") == sizes("p4/table-2") == sizes("p4/figure-13") == {200_000}
    assert sizes("p4/figure-14") == sizes("p4/figure-15") == {100_000}


def line(point: Point) -> tuple[str, ...]:
    """Which line of its figure a point is on: its matcher, or its kind of set and tree."""
    return tuple(str(value) for value in point.values() if isinstance(value, str))


@every_figure
def test_a_figure_is_drawn_tabled_and_judged(figure: Figure, tmp_path: Path) -> None:
    """With a small measured row in place of each line's: what a worker gives has the columns that the rest needs."""
    small = {line(point): point for point in sorted(figure.grid(1e-3), key=lambda point: point["subscriptions"])}
    try:
        measured = {name: figure.run(point)[0] for name, point in small.items()}
    except FileNotFoundError as missing:  # figures of data that whoever runs them has to have
        pytest.skip(str(missing))
    rows = [{**measured[line(point)], **point} for point in figure.grid(1)]
    save(figure, rows, [tmp_path / "plot.png"])
    assert (tmp_path / "plot.png").stat().st_size > 10_000
    found = figure.table(rows)
    assert found.lines
    assert all(len(line) == len(found.header) for line in found.lines)
    verdict = figure.verdict(rows)
    assert verdict.checks
    assert verdict.why.endswith(".")


@pytest.mark.parametrize("share", [0.1, 1e-3, 1e-5])
def test_the_decay_is_chosen_so_that_an_event_matches_a_given_share(share: float) -> None:
    assert 0 < trees.decay_for(share) < 1
    popularity = POPULARITY * trees.decay_for(share) ** np.arange(ATTRIBUTES)
    assert np.prod(1 - 0.8 * popularity) == pytest.approx(share, rel=1e-6)


def test_held_sets_match_about_ten_subscriptions_an_event_however_many_there_are() -> None:
    for size in (1_000, 10_000):
        (row,) = trees.counted({"kind": "held", "way": trees.PLAIN, "subscriptions": size})
        assert row["matches"] == pytest.approx(trees.HELD, rel=0.25)


def test_the_catalogue_needs_neither_spark_nor_matplotlib() -> None:
    """A worker loads it for every figure, and a cluster's workers may have no matplotlib."""
    program = (
        "import sys, tamis.lab.experiments.reporting; sys.exit(bool({'pyspark', 'matplotlib'} & set(sys.modules)))"
    )
    path = str(ROOT / "src")
    assert subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": path}, timeout=120).returncode == 0


def rising(figure: Figure, **exponents: Callable[[Row], Any]) -> list[Row]:
    """Rows as they would be if each column were this function of its point."""
    points: list[Point] = list(figure.grid(1))
    return [{**point, **{name: of(point) for name, of in exponents.items()}} for point in points]


def test_visits_over_the_bound_or_of_a_greater_exponent_are_not_as_p1_says() -> None:
    figure = FIGURES["p1/cost"]
    fine = figure.verdict(rising(figure, visits=lambda p: p["subscriptions"] ** 0.5, matches=lambda p: 10))
    assert fine.outcome == "reproduced"
    steep = figure.verdict(rising(figure, visits=lambda p: p["subscriptions"] ** 0.8 / 100, matches=lambda p: 10))
    assert [check.holds for check in steep.checks] == [True, False, False, False, False]
    above = figure.verdict(rising(figure, visits=lambda p: 1e6 * p["subscriptions"] ** 0.5, matches=lambda p: 10))
    assert [check.holds for check in above.checks] == [False, True, True, True, True]


def test_an_order_that_is_not_p2s_is_told_with_the_sizes_where_it_is_not() -> None:
    figure = FIGURES["p2/figure-9"]
    speed = {"quarantine": 1.0, "equality-preferred": 2.0, "fair-predicate": 3.0, "naive": 9_000.0}

    def microseconds(point: Row) -> float:
        swapped = point["matcher"] == "quarantine" and point["subscriptions"] == 100_000
        return point["subscriptions"] / 1e4 * (2.5 if swapped else speed.get(point["matcher"], 10.0))

    rows = rising(
        figure, us_per_event=microseconds, matches=lambda p: 1, events=lambda p: 1, candidates_touched=lambda p: 1
    )
    checks = {check.what: check for check in figure.verdict(rows).checks}
    assert checks["nonequality quarantining ≤ equality-preferred"].holds is False
    assert checks["nonequality quarantining ≤ equality-preferred"].ours.endswith("not at 100k")
    assert checks["equality-preferred ≤ fair-predicate"].holds
    assert checks["naive (the oracle, plain Python) ÷ quarantining at 400,000"].ours == "9,000"
    assert checks["naive (compiled scan) ÷ quarantining at 400,000"].holds is None


def schedules(figure: Figure, **factors: float) -> list[Row]:
    """Rows as they would be if each schedule needed so many evaluations, times the root of the subscriptions."""
    rows: list[Row] = []
    for point in figure.grid(1):
        value = factors[str(point["schedule"]).replace("-", "_")] * int(point["subscriptions"]) ** 0.5
        row: Row = {**point, "evaluations": value, "first": value, "first_few": value, "deviation": 0.01}
        rows.append({**row, "theorem_2": value})
    return rows


def test_a_schedule_that_is_no_better_than_p0_says_and_one_that_misses_its_bar_are_told() -> None:
    figure = FIGURES["p0/figure-5"]
    fine = {"naive": 30.0, "sequential": 10.0, "sequential_stopping": 10.0, "sub_order": 9.0, "adaptive": 7.5}
    assert figure.verdict(schedules(figure, **fine, bound=7.0)).outcome == "reproduced"
    checks = {check.what: check for check in figure.verdict(schedules(figure, **fine, bound=7.0)).checks}
    assert checks["adaptive ÷ Sequential"].holds
    assert checks["Sub-Order ≤ Sequential"].holds
    slow = {**fine, "adaptive": 8.5, "sub_order": 10.1}
    checks = {check.what: check for check in figure.verdict(schedules(figure, **slow, bound=8.1)).checks}
    assert checks["adaptive ÷ Sequential"].holds is False
    assert checks["adaptive ÷ Sequential"].ours.endswith("where the bound itself is 0.810 times")
    assert checks["Sub-Order ≤ Sequential"].holds is False
    assert checks["adaptive ÷ Sub-Order"].holds


def test_recovery_is_counted_from_the_rows_that_stay_near() -> None:
    learning = [150.0, 101.0, 140.0, 101.5, 101.0, 100.0]
    rows = [{"first": 50 * at, "learning": value, "informed": 100.0} for at, value in enumerate(learning)]
    assert until_recovered(rows) == 150
    assert until_recovered(rows[:3]) is None
