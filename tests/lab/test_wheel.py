"""The laboratory is part of the wheel, and its commands work from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tamis.lab.experiments.reporting import FIGURES

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "src/tamis/lab"


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Files of the wheel by their paths in it, as the build takes them."""
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    return {file.distribution_path: file.path for file in wheel.WheelBuilder(str(ROOT)).recurse_included_files()}


def test_the_wheel_has_every_file_of_the_laboratory(files: dict[str, str]) -> None:
    ours = {f"tamis/lab/{path.relative_to(LAB)}" for path in LAB.rglob("*") if "__pycache__" not in path.parts}
    assert {path for path in ours if (ROOT / "src" / path).is_file()} <= files.keys()
    assert {f"tamis/lab/experiments/{name.replace('-', '_')}.py" for name in FIGURES} <= files.keys()


def test_every_figure_is_listed_where_there_is_nothing_but_the_wheel(files: dict[str, str], tmp_path: Path) -> None:
    for name, path in files.items():
        copy = tmp_path / "site" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    program = "import tamis, sys; sys.stderr.write(tamis.__file__); from tamis.cli import main; main()"
    listed = subprocess.run(
        [sys.executable, "-c", program, "experiments", "list"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (listed.returncode, listed.stderr) == (0, str(tmp_path / "site/tamis/__init__.py"))
    assert [name for name in FIGURES if name not in listed.stdout] == []
