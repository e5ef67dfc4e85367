"""docs/coverage.md: every part of the papers has code, a test and a command, and all of them exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from benchmarks.__main__ import LINES
from experiments.catalogue import chosen
from tamis.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ("P0", "P1", "P2", "P3", "P4")


def rows() -> list[tuple[str, list[str]]]:
    """Each row of the tables, with the paper it stands under."""
    found, paper = [], ""
    for line in (ROOT / "docs/coverage.md").read_text().splitlines():
        if line.startswith("## "):
            paper = line[3:5]
        elif line.startswith("| ") and not line.startswith("| part"):
            found.append((paper, [cell.strip() for cell in line.strip("|").split(" | ")]))
    return found


ROWS = rows()
SHOWN = [f"{paper} {cells[0][:60]}" for paper, cells in ROWS]


@cache
def named_in(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_paper_is_there() -> None:
    assert tuple(dict.fromkeys(paper for paper, _ in ROWS)) == PAPERS


@pytest.mark.parametrize("cells", [cells for _, cells in ROWS], ids=SHOWN)
def test_a_part_has_code_a_test_and_a_command(cells: list[str]) -> None:
    _, code, test, command = (re.sub(r"^`|`$", "", cell) for cell in cells)
    assert (ROOT / code).is_file()
    path, _, name = test.partition("::")
    assert path.startswith("tests/")
    assert (ROOT / path).is_file()
    assert not name or name in named_in(ROOT / path)
    assert runs(command.split())


def runs(words: list[str]) -> bool:
    """Whether there is such a command, with such lines, figures or options."""
    if words[:3] == ["python", "-m", "benchmarks"]:
        return bool(words[3:]) and set(words[3:]) <= set(LINES)
    if words[:3] == ["tamis", "experiments", "run"]:
        return bool(chosen(words[3:]))
    assert words[0] == "tamis"
    commands = typer.main.get_command(app)
    assert isinstance(commands, TyperGroup)
    command = commands.commands[words[1]]
    options = {option for parameter in command.params for option in parameter.opts}
    return {word for word in words[2:] if word.startswith("--")} <= options
