"""docs/tutorial.md: every step of it, in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="the broker extra is not installed")

from tests.docs.snippets import TUTORIAL
from tests.docs.tutorial import Tutorial


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_every_step_of_the_tutorial_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Tutorial(tmp_path) as tutorial:
        for block, printed in tutorial.steps():
            if block.output is not None:
                assert printed.rstrip("\n") == block.output.rstrip("\n"), f"line {block.line}"
        assert tutorial.server is not None  # the page came as far as its commands
    assert Path("backtest.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_every_step_is_done_with_a_million_filters_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Tutorial(tmp_path, filters="1_000_000") as tutorial:
        printed = "".join(output for _, output in tutorial.steps())
    assert "1000000 filters, 0 refused" in printed
    assert "Oak desk ['desks']" in printed  # what the last block prints


def test_every_picture_of_the_tutorial_is_shown() -> None:
    shown = set(re.findall(r"!\[[^\]]+\]\(images/(tutorial-[\w-]+\.png)\)", TUTORIAL.read_text(encoding="utf-8")))
    assert shown == {path.name for path in (TUTORIAL.parent / "images").glob("tutorial-*.png")}
