"""What was measured, as tables and pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from tamis.cli.base.options import CommandError
from tamis.cli.bench.plot import plot, require_plot
from tamis.cli.bench.problems import Results
from tamis.cli.bench.tables import page_table, table
from tamis.lab.comparison import Cell, Measurement


def cell(matcher: str, seconds: float, size: int = 1000, events: int = 100, workload: str = "w") -> Cell:
    chosen = "scan" if matcher == "auto" else matcher
    told = Measurement(
        matcher, workload, size, events, 7 * events, 0.5, seconds, 3.0, 0.0, 12.5, 2_000_000, 5, 8, chosen
    )
    return Cell(matcher, workload, size, told)


RESULTS = Results(
    [
        cell("columnar", 2e-6),
        cell("tree", 5e-6, events=40),
        Cell("gough", "w", 1000, reason="out of memory"),
        cell("auto", 1e-6),
        cell("columnar", 3e-6, 10_000),
        cell("tree", 6e-6, 10_000),
        cell("tree", 9e-6, workload="x"),
    ],
    "columnar",
)


def test_ratios_are_to_the_baseline_of_the_same_problem() -> None:
    assert [RESULTS.ratio(cell) for cell in RESULTS.cells] == pytest.approx([1.0, 2.5, None, 0.5, 1.0, 2.0, None])
    assert [RESULTS.is_best(cell) for cell in RESULTS.cells] == [False, False, False, True, True, False, True]
    assert not RESULTS.complete
    assert [row["ratio"] for row in RESULTS.to_rows()][:3] == pytest.approx([1.0, 2.5, None])
    assert RESULTS.to_rows()[2]["reason"] == "out of memory"


def shown(width: int) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(table(RESULTS, width))
    return captured.get()


def test_the_table_has_all_that_was_counted_and_why_something_was_not() -> None:
    text = shown(120)
    lines = text.splitlines()
    assert lines[0].split() == ["time/event", "ratio", "matches", "predicates", "nodes", "candidates", "MB", "build"]
    assert lines[2].split() == ["columnar", "2.00", "µs", "1.00×", "7.00", "3.00", "12.5", "2.00", "500", "ms"]
    assert "2.50×" in lines[3]
    assert "40 of 100 events" in lines[3]
    assert "out of memory" in lines[4]
    assert "scan was chosen" in lines[5]
    assert "w, 10k" in text


def test_a_narrow_terminal_gets_the_numbers_that_matter_most() -> None:
    lines = shown(80).splitlines()
    assert lines[0].split() == ["time/event", "ratio", "matches", "MB", "build"]
    assert "…" not in "".join(lines)


def test_a_page_gets_time_and_ratio() -> None:
    assert page_table(RESULTS) == (
        "| workload | subscriptions | columnar | tree | gough | auto |\n"
        "|---|--:|--:|--:|--:|--:|\n"
        "| w | 1k | 2.00 µs | 5.00 µs (2.50×) | out of memory | **1.00 µs (0.50×)** |\n"
        "| w | 10k | **3.00 µs** | 6.00 µs (2.00×) |  |  |\n"
        "| x | 1k |  | **9.00 µs** |  |  |\n"
    )


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_is_drawn(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib", reason="the Spark extra is not installed")
    path = tmp_path / f"picture{suffix}"
    require_plot(path)
    plot(RESULTS, path)
    assert path.stat().st_size > 5_000


def test_a_picture_is_drawn_where_nothing_could_be_measured(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the Spark extra is not installed")
    plot(Results([Cell("gough", "w", 1000, reason="out of memory")], "gough"), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").exists()


def test_a_picture_of_no_known_form_is_refused() -> None:
    with pytest.raises(CommandError, match=r"ends in \.png or \.svg"):
        require_plot(Path("picture.gif"))


def test_results_are_read_back_from_their_rows() -> None:
    rows = json.loads(json.dumps(RESULTS.to_rows()))
    assert Results.from_rows(rows, "columnar") == RESULTS
