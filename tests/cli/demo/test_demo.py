"""`tamis demo` from end to end, on a small scale."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.dataset
import pytest

from tests.cli.house import Tamis


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_demo_leaves_a_folder_that_accounts_for_every_event(tamis: Tamis, house: Path) -> None:
    result = tamis("demo", "--subscriptions", "500", "--seconds", "4", "--rate", "100", "-o", "results")
    assert result.exit_code == 0, result.stderr
    results = house / "results"
    summary = json.loads((results / "summary.json").read_text())
    assert summary["subscriptions"] == 500
    assert summary["events"] > 0
    lines = sum(len(path.read_text().splitlines()) for path in (results / "events").glob("*.jsonl"))
    matched = pyarrow.dataset.dataset(results / "matches", format="parquet").count_rows()
    dead = results / "dead-letters"
    refused = pyarrow.dataset.dataset(dead, format="parquet").count_rows() if dead.exists() else 0
    assert matched + refused == lines
    assert "results/plot.png" in result.stdout
    for name in ("plot.png", "plot.svg", "README.txt", "schema.yaml", "subscriptions.parquet"):
        assert (results / name).stat().st_size > 0
    again = tamis("match", "results/subscriptions", "results/events/lots-000001.jsonl", "--numbers")
    assert again.exit_code in (0, 1)


def test_a_folder_that_the_demo_did_not_make_is_left_alone(tamis: Tamis, house: Path) -> None:
    (house / "precious").mkdir()
    (house / "precious" / "letter.txt").write_text("keep me")
    result = tamis("demo", "-o", "precious")
    assert result.exit_code == 2
    assert "something else in this folder" in result.stderr
    assert (house / "precious" / "letter.txt").read_text() == "keep me"
