"""Draws docs/images/growth.png from `make bench`'s growth line: matching, building, memory and adding, by size.

python docs/figures/growth.py [growth.json] [growth.png]
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from tamis.lab.measuring import INK, plain
from tamis.lab.timing import rounded

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build/bench/growth.json"
PICTURE = ROOT / "docs/images/growth.png"

_SIZE = re.compile(r"([\d,]+) subscriptions")
_MEASURED, _BESIDE = "#1f5f8b", "#9a9a9a"


class Point(NamedTuple):
    """An index of one size: microseconds and matches an event, seconds to build, GB on disk and at most, ms to add."""

    size: int
    matching: float
    matches: float
    building: float
    on_disk: float
    peak: float
    adding: float


def points(findings: list[dict[str, Any]]) -> list[Point]:
    """By number of subscriptions."""
    found = []
    for finding in findings:
        size, told = _SIZE.search(finding["workload"]), finding["details"]
        if size is not None and "us_per_event" in told:
            count = int(size[1].replace(",", ""))
            found.append(
                Point(
                    count, told["us_per_event"], told["matches_per_event"], told["building_s"],
                    count * told["bytes_a_subscription"] / 1e9, told["peak_gb"], told["adding_ms"],
                )
            )  # fmt: skip
    return sorted(found)


def draw(measured: Sequence[Point], cores: int, picture: Path) -> None:
    """Four panels over the same sizes; beside each curve the one that it is to be held against."""
    sizes = [point.size for point in measured]
    first = measured[0]
    figure, ((matching, building), (memory, adding)) = plt.subplots(2, 2, figsize=(9.6, 6.6), dpi=140, sharex=True)
    _beside(
        matching, sizes, [first.matching * point.matches / first.matches for point in measured], "as the matches grow"
    )
    _line(matching, sizes, [point.matching for point in measured], "µs an event, one thread")
    for point in measured[2::2]:
        matching.annotate(
            f"{point.matches:,.0f} matches", (point.size, point.matching), textcoords="offset points", xytext=(4, -11),
            fontsize=7, color=INK,
        )  # fmt: skip
    _beside(building, sizes, [measured[-1].building * size / sizes[-1] for size in sizes], "linear")
    _line(building, sizes, [point.building for point in measured], "seconds to compile the texts")
    _beside(memory, sizes, [point.peak for point in measured], "of the process, at most so far, texts included")
    _line(memory, sizes, [point.on_disk for point in measured], "GB of the index, ids included")
    _line(adding, sizes, [point.adding for point in measured], "ms to add one subscription")
    adding.set_yscale("linear")  # it hardly grows: from nothing up, so that its swings do not look large
    adding.set_ylim(0, 2 * max(point.adding for point in measured))
    for axes in (memory, adding):
        axes.set_xlabel("subscriptions")
        axes.set_xticks(sizes, [rounded(size) for size in sizes])
    matching.set_title(
        f"Le Subscribe's workload, p = 0.5 ({cores}-core machine)", fontsize=10, loc="left", color=INK, pad=14
    )
    figure.tight_layout()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Software": None})


def _line(axes: Axes, sizes: list[int], values: list[float], label: str) -> None:
    axes.loglog(sizes, values, color=_MEASURED, marker="o", markersize=4, linewidth=2, label=label)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    plain(axes)
    axes.legend(frameon=False, loc="upper left", fontsize=8)


def _beside(axes: Axes, sizes: list[int], values: list[float], label: str) -> None:
    axes.loglog(sizes, values, color=_BESIDE, linestyle="--", linewidth=1.3, label=label)


def main() -> None:
    given = [Path(argument) for argument in sys.argv[1:3]]
    results, picture = (given + [RESULTS, PICTURE][len(given) :])[:2]
    content = json.loads(results.read_text(encoding="utf-8"))
    draw(points(content["findings"]), content["machine"]["cores"], picture)


if __name__ == "__main__":
    main()
