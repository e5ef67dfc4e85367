"""The page and the pictures, made from results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tamis.lab.experiments.point_store import PointStore
from tamis.lab.experiments.reporting import PAGE, report, sections
from tamis.lab.measuring import Figure, Outcome, Paper
from tests.lab.experiments import toy

SQUARE = toy.figure(toy.square)
OTHER = toy.figure(toy.square, name="toy/other")
PAPERS = [Paper("toy", "a paper on squares", [SQUARE, OTHER])]


@pytest.fixture
def results(tmp_path: Path) -> PointStore:
    return PointStore(tmp_path / "results")


def finish(results: PointStore, figure: Figure, error: int = 0) -> None:
    for point in toy.POINTS:
        results.write(figure, point, [{"square": int(point["size"]) ** 2 + error}], 30)


def test_a_section_has_claim_command_picture_numbers_and_verdict(results: PointStore, tmp_path: Path) -> None:
    finish(results, SQUARE)
    assert report(PAPERS, results, tmp_path) == (["toy/square"], ["toy/other"])
    text = (tmp_path / PAGE).read_text(encoding="utf-8")
    section = sections(text)["toy/square"]
    assert section.outcome is Outcome.REPRODUCED
    assert "400 at 20." in section.text
    assert "`tamis experiments run toy/square`" in section.text
    assert "![squares](figures/toy/square.svg)" in section.text
    assert "| 20 | 400 |" in section.text
    assert r"square \| area" in section.text
    assert "**Verdict: reproduced.** Nothing else was to be expected." in section.text
    assert "3 minutes in all" in section.text
    assert "| toy/other | squares | not run yet |" in text


def test_pictures_are_drawn_as_svg_and_png_and_the_same_for_the_same_rows(results: PointStore, tmp_path: Path) -> None:
    finish(results, SQUARE)
    pictures = [tmp_path / f"figures/toy/square{form}" for form in (".svg", ".png")]
    report(PAPERS, results, tmp_path)
    first = [picture.read_bytes() for picture in pictures]
    report(PAPERS, results, tmp_path)
    assert [picture.read_bytes() for picture in pictures] == first
    assert ET.fromstring(first[0]).tag.endswith("svg")
    assert first[1].startswith(b"\x89PNG")


def test_a_figure_without_results_keeps_what_the_page_says_of_it(results: PointStore, tmp_path: Path) -> None:
    finish(results, SQUARE)
    report(PAPERS, results, tmp_path)
    before = sections((tmp_path / PAGE).read_text(encoding="utf-8"))["toy/square"]
    elsewhere = PointStore(tmp_path / "elsewhere")
    finish(elsewhere, OTHER, error=1)
    assert report(PAPERS, elsewhere, tmp_path) == (["toy/other"], ["toy/square"])
    text = (tmp_path / PAGE).read_text(encoding="utf-8")
    assert sections(text)["toy/square"] == before
    assert sections(text)["toy/other"].outcome is Outcome.NOT
    assert "| toy/square | squares | reproduced |\n| toy/other | squares | not reproduced |" in text


def test_a_figure_with_points_missing_is_not_reported(results: PointStore, tmp_path: Path) -> None:
    finish(results, SQUARE)
    results.path(SQUARE, toy.POINTS[3]).unlink()
    assert report(PAPERS, results, tmp_path) == ([], ["toy/square", "toy/other"])


def test_a_section_knows_the_version_of_its_figure(results: PointStore, tmp_path: Path) -> None:
    newer = replace(SQUARE, version=7)
    finish(results, newer)
    report([Paper("toy", "squares", [newer])], results, tmp_path)
    assert sections((tmp_path / PAGE).read_text(encoding="utf-8"))["toy/square"].version == 7
