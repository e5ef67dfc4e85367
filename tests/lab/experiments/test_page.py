"""docs/reproduction.md belongs to the figures that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tamis.lab.experiments.reporting import FIGURES, PAGE, sections
from tamis.lab.measuring import Figure

DOCS = Path(__file__).resolve().parents[3] / "docs"
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")


def words(text: str) -> list[str]:
    return re.findall(r"\S+", text)


def test_the_page_has_a_section_for_each_figure_and_no_other() -> None:
    assert list(sections(TEXT)) == list(FIGURES)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=list(FIGURES))
def test_a_section_is_of_the_figure_as_it_is_now(figure: Figure) -> None:
    """Made by this version of it, with its claim and sizes, and with both pictures: `tamis experiments report`."""
    section = sections(TEXT)[figure.name]
    assert section.version == figure.version
    assert section.text.startswith(f"### {figure.name}: {figure.title}")
    assert " ".join(words(figure.claim)) in " ".join(words(section.text))
    assert " ".join(words(figure.sizes)) in " ".join(words(section.text))
    for form in (".svg", ".png"):
        assert (DOCS / "figures" / f"{figure.name}{form}").exists()
