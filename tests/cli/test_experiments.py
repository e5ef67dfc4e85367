"""`tamis experiments`: list, run, report."""

from __future__ import annotations

from pathlib import Path

import pytest

import tamis as package
from tamis.lab.experiments import reporting as catalogue
from tamis.lab.experiments.point_store import PointStore
from tamis.lab.measuring import Paper
from tests.cli.house import Tamis
from tests.lab.experiments import toy


@pytest.fixture
def square(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue has nothing but a toy."""
    figure = toy.figure(toy.square)
    monkeypatch.setattr(catalogue, "PAPERS", [Paper("toy", "squares", [figure])])
    monkeypatch.setattr(catalogue, "FIGURES", {figure.name: figure})


def test_the_list_has_every_figure_and_how_much_of_it_is_done(tamis: Tamis) -> None:
    result = tamis("experiments", "list")
    assert result.exit_code == 0
    for name, figure in catalogue.FIGURES.items():
        assert name in result.stdout
        assert f"0 of {len(figure.grid(1))}" in result.stdout


def test_a_figure_that_does_not_exist_ends_in_one_line(tamis: Tamis) -> None:
    result = tamis("experiments", "run", "p2/figure-99")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "there is no figure 'p2/figure-99'" in result.stderr


def test_outside_a_source_tree_a_report_needs_a_folder_and_one_line_says_so(
    tamis: Tamis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "__file__", str(tmp_path / "site-packages/tamis/__init__.py"))
    assert tamis("experiments", "list").exit_code == 0
    result = tamis("experiments", "report")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "a clone of the repository" in result.stderr
    assert "--output" in result.stderr
    assert tamis("experiments", "report", "--output", "page").exit_code == 0
    assert Path("page/reproduction.md").exists()


@pytest.mark.usefixtures("square")
def test_a_report_of_a_small_run_does_not_go_into_the_docs(tamis: Tamis) -> None:
    result = tamis("experiments", "report", "--scale", "0.1")
    assert result.exit_code == 2
    assert "--output" in result.stderr


@pytest.mark.spark
@pytest.mark.usefixtures("spark", "square")
def test_a_run_leaves_rows_and_pictures_and_a_report_makes_a_page_of_them(tamis: Tamis) -> None:
    toy.by_value()
    result = tamis("experiments", "run")
    assert result.exit_code == 0
    assert "toy/square: reproduced" in result.stdout
    folder = Path("experiments-results/toy/square")
    assert {path.name for path in folder.iterdir()} >= {"plot.svg", "plot.png"}
    assert len(list(folder.glob("*.parquet"))) == len(toy.POINTS)
    result = tamis("experiments", "report", "--output", "page")
    assert result.exit_code == 0
    assert "Verdict: reproduced" in Path("page/reproduction.md").read_text(encoding="utf-8")


@pytest.mark.spark
@pytest.mark.usefixtures("spark", "square")
def test_a_run_uses_what_is_there_unless_it_is_to_be_fresh(tamis: Tamis) -> None:
    toy.by_value()
    figure = catalogue.FIGURES["toy/square"]
    results = PointStore(Path("experiments-results"))
    for point in toy.POINTS:
        results.write(figure, point, [{"square": 1}], 0)
    assert "toy/square: not" in tamis("experiments", "run", "toy/square").stdout
    assert "toy/square: reproduced" in tamis("experiments", "run", "toy/square", "--fresh").stdout


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_point_that_fails_is_told_and_the_run_is_not_done(tamis: Tamis, monkeypatch: pytest.MonkeyPatch) -> None:
    toy.by_value()
    figure = toy.figure(toy.square_of_some)
    monkeypatch.setattr(catalogue, "PAPERS", [Paper("toy", "squares", [figure])])
    monkeypatch.setattr(catalogue, "FIGURES", {figure.name: figure})
    result = tamis("experiments", "run", "toy")
    assert result.exit_code == 2
    assert "{'size': 20, 'word': 'a'}: ValueError: 20 is not to my taste" in result.stderr
