"""docs/architecture.md and the pages that name files: what they name exists, and the ladder is the one that is kept."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
PAGES = ("docs/architecture.md", "docs/decisions/0015-what-stands-twice.md")


@cache
def tree() -> list[PurePosixPath]:
    """Every file and folder of the tree, from its root."""
    tops = ("src/tamis", "tests", "benchmarks", "scripts")
    paths = (path for top in tops for path in (ROOT / top, *(ROOT / top).rglob("*")) if "__pycache__" not in path.parts)
    return [PurePosixPath(path.relative_to(ROOT).as_posix()) for path in paths]


def stands_for(path: PurePosixPath, named: str) -> bool:
    """A page names the last parts of a path: `buckets/kernels.py`, `tests/contract/`, `dialects/*`."""
    pattern = named.rstrip("/").replace("**", "*")
    return path.match(pattern) and (not named.endswith("/") or (ROOT / path).is_dir())


@pytest.mark.parametrize("page", PAGES)
def test_every_file_and_folder_that_is_named_exists(page: str) -> None:
    named = re.findall(r"`([\w./*]+(?:\.py|/|/\*+))`", (ROOT / page).read_text())
    assert len(named) > 50
    assert [name for name in dict.fromkeys(named) if not any(stands_for(path, name) for path in tree())] == []


def test_every_type_that_the_architecture_names_exists() -> None:
    named = set(re.findall(r"`([A-Z][a-z]\w+)(?:\([^`]*\))?`", PAGE))
    sources = [(ROOT / path).read_text() for path in tree() if path.suffix == ".py" and path.parts[0] == "src"]
    known = {name for text in sources for name in re.findall(r"^(?:class )?([A-Z]\w+)", text, re.MULTILINE)}
    assert len(named) > 30
    assert named - known == set()


def test_the_ladder_on_the_page_is_the_one_that_imports_are_held_to() -> None:
    shown = re.search(r"^    cli → .*\n.*$", PAGE, re.MULTILINE)
    assert shown is not None
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    held = [layer for layer in contracts[0]["layers"] if layer != "testing"]  # which the page speaks of by itself
    assert [" ".join(rung.split()) for rung in shown[0].split("→")] == held
