"""Folders of the package: no two of them import each other, whichever files the imports are in."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
ROOT = SOURCE / "tamis"


def imports_of(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Module and name of every import, in functions too; what only type checkers read is left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)
        yield from imports_of(node)


def folder_of(module: str, name: str) -> Path | None:
    """The folder in which an imported name is defined; None outside of the package, and for its own files."""
    path = SOURCE.joinpath(*module.split("."))
    if module.partition(".")[0] != "tamis":
        return None
    if path.is_dir() and (path / name).is_dir():
        return path / name
    folder = path if path.is_dir() else path.parent
    return None if folder == ROOT else folder


def folders(files: Mapping[Path, str]) -> dict[Path, set[Path]]:
    """The folders that each folder imports."""
    found: dict[Path, set[Path]] = {}
    for path, text in files.items():
        if path.parent != ROOT:
            targets = {folder_of(*one) for one in imports_of(ast.parse(text))}
            found.setdefault(path.parent, set()).update(one for one in targets if one not in (None, path.parent))
    return found


def sources() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}


def test_no_two_folders_import_each_other() -> None:
    TopologicalSorter(folders(sources())).prepare()


def test_an_import_back_is_noticed() -> None:
    files = sources()
    files[ROOT / "matching/base/matcher.py"] += "\nfrom tamis.matching.columnar.level import ColumnarMatcher\n"
    with pytest.raises(CycleError):
        TopologicalSorter(folders(files)).prepare()
