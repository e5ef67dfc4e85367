"""The scripts that draw figures and fill tables from the results of `make bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import LINES
from docs.figures import matchers, performance_table
from tamis.cli.bench.problems import Results
from tamis.lab.comparison import Cell, Measurement

MACHINE = {"processor": "x86_64", "cores": 2, "python": "3.11"}


def result(line: str, scale: float = 1.0, **finding: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "what": "time per event",
        "workload": "",
        "measured": "",
        "bar": "",
        "reached": None,
        "details": {},
    }
    return {"line": line, "at": "2026-01-02T03:04:05", "machine": MACHINE, "scale": scale, "findings": [told | finding]}


def test_a_table_is_filled_anew_and_nothing_else_changes() -> None:
    page = f"before\n{performance_table.BEGIN}\nold\n{performance_table.END}\nafter\n"
    once = performance_table.filled(page, [result("growth", measured="2 µs", reached=True)])
    assert once.startswith("before\n")
    assert once.endswith("after\n")
    assert "old" not in once
    assert "| growth | time per event |  | 2 µs |  | reached |  | 2026-01-02 |" in once
    assert performance_table.filled(once, [result("growth", measured="2 µs", reached=True)]) == once


def test_a_line_that_was_not_run_again_keeps_its_rows() -> None:
    page = f"{performance_table.BEGIN}\n{performance_table.END}"
    once = performance_table.filled(page, [result("growth", measured="2 µs"), result("change", measured="1.2×")])
    again = performance_table.filled(once, [result("change", measured="1.1×")])
    assert again == once.replace("1.2×", "1.1×")


def test_a_line_that_was_run_smaller_is_neither_reached_nor_missed() -> None:
    (row,) = performance_table.rows_of(result("growth", scale=0.1, reached=False))
    assert row.mark == "at scale 0.1"


def test_ratios_come_first_and_lines_in_the_order_in_which_they_run() -> None:
    lines = [result("change", measured="3 ms"), result("growth", measured="2 µs"), result("joins", measured="4×")]
    told = performance_table.tables([row for line in lines for row in performance_table.rows_of(line)])
    assert told.index("| joins") < told.index("| growth") < told.index("| change")


def test_every_line_is_described_on_the_page() -> None:
    described = performance_table.PAGE.read_text(encoding="utf-8")
    assert [line for line in LINES if f"| `{line}` |" not in described] == []


def test_the_page_has_the_markers_of_the_table() -> None:
    page = performance_table.PAGE.read_text(encoding="utf-8")
    assert performance_table.BEGIN in page
    assert performance_table.END in page


def test_the_figure_of_growth_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the Spark extra is not installed")
    from docs.figures import growth

    more = {"building_s": 1.0, "bytes_a_subscription": 120, "peak_gb": 0.5, "adding_ms": 0.1}
    findings = [
        {
            "workload": f"{size:,} subscriptions",
            "details": {"us_per_event": size / 1e4, "matches_per_event": size / 10, **more},
        }
        for size in (100_000, 10_000)
    ]
    points = growth.points(findings)
    assert [(point.size, point.matching, point.matches) for point in points] == [
        (10_000, 1.0, 1000.0),
        (100_000, 10.0, 10_000.0),
    ]
    growth.draw(points, 2, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 10_000


def cell(matcher: str, seconds: float, size: int = 10) -> Cell:
    told = Measurement(matcher, "w", size, 5, 5, 1.0, seconds, 0.0, 0.0, 0.0, 1, 1, 8, matcher)
    return Cell(matcher, "w", size, told)


def test_small_sets_have_the_columnar_index_beside_the_best_other() -> None:
    batches = Results([cell("columnar", 2e-6), cell("scan", 1e-6), cell("tree", 4e-6)], "columnar")
    single = Results([cell("columnar", 1e-4), cell("scan", 2e-4)], "columnar")
    assert matchers.small_table(batches, single).splitlines()[-1] == (
        "| w | 10 | 2.00 µs | **1.00 µs (scan, 0.50×)** | 100 µs | 200 µs (scan, 2.00×) |"
    )


def test_the_page_on_matchers_has_the_markers_of_its_tables() -> None:
    page = matchers.PAGE.read_text(encoding="utf-8")
    for name in ("matchers table", "small table"):
        once = matchers.between(page, name, "new\n")
        assert "begin -->\nnew\n<!--" in once
        assert matchers.between(once, name, "new\n") == once
    with pytest.raises(SystemExit, match="no markers"):
        matchers.between(page, "another table", "")


def test_the_picture_of_an_analysis_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the Spark extra is not installed")
    from docs.figures import analysis

    analysis.draw(tmp_path / "analysis.png", subscriptions=300, events=50)
    assert (tmp_path / "analysis.png").stat().st_size > 20_000


def test_in_the_picture_of_a_watched_city_everything_is_outlined() -> None:
    pytest.importorskip("cv2", reason="the extra `images` is not installed")
    import numpy as np

    from docs.figures import city_watch
    from tamis.operators.library.images.pictures import read_picture
    from tamis.workloads.city_pictures import draw

    picture, people, vehicles = city_watch.seen(draw(city_watch.SCENE, np.random.default_rng(2)))
    assert (people, vehicles) == (14, 26)
    drawn, kept = read_picture(picture), read_picture(city_watch.PICTURE.read_bytes())
    assert np.mean(drawn != kept) < 0.01  # OpenCV may smooth a line otherwise one day
