"""Draws docs/images/growth.png: time per event against the number of subscriptions, from `make bench`'s growth line.

python docs/figures/growth.py [growth.json] [growth.png]
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build/bench/growth.json"
PICTURE = ROOT / "docs/images/growth.png"

_SIZE = re.compile(r"([\d,]+) subscriptions")
_MEASURED, _ALLOWED, _TEXT = "#1f5f8b", "#9a9a9a", "#333333"


def points(findings: list[dict[str, Any]]) -> list[tuple[int, float, float]]:
    """Subscriptions, microseconds per event and matches per event, by number of subscriptions."""
    found = []
    for finding in findings:
        size = _SIZE.search(finding["workload"])
        if size is not None and "us_per_event" in finding["details"]:
            details = finding["details"]
            found.append((int(size[1].replace(",", "")), details["us_per_event"], details["matches_per_event"]))
    return sorted(found)


def draw(measured: list[tuple[int, float, float]], cores: int, picture: Path) -> None:
    """One curve as measured, and beside it the one it would be if time grew as the matches do."""
    sizes, times, matches = (list(column) for column in zip(*measured, strict=True))
    allowed = [times[0] * count / matches[0] for count in matches]
    figure, axes = plt.subplots(figsize=(7.2, 4.2), dpi=160)
    axes.loglog(sizes, allowed, color=_ALLOWED, linestyle="--", linewidth=1.3, label="if it grew as the matches do")
    axes.loglog(sizes, times, color=_MEASURED, marker="o", linewidth=2, label="measured")
    for size, time, count in measured:
        axes.annotate(
            f"{count:,.0f} matches",
            (size, time),
            textcoords="offset points",
            xytext=(7, -9),
            ha="left",
            fontsize=7.5,
            color=_TEXT,
        )
    axes.set_xlabel("subscriptions")
    axes.set_ylabel("time per event, µs (one thread)")
    axes.set_xticks(sizes, [_short(size) for size in sizes])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylim(bottom=min(times) / 2.2)
    axes.set_xlim(sizes[0] / 1.6, sizes[-1] * 3.2)  # room for the last label
    axes.grid(True, which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    axes.set_title(
        f"Time per event, Le Subscribe's workload, p = 0.5 ({cores}-core machine)", fontsize=10, loc="left", color=_TEXT
    )
    figure.tight_layout()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Software": None})


def _short(size: int) -> str:
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if size >= unit:
            return f"{size / unit:.3g}{letter}"
    return str(size)


def main() -> None:
    given = [Path(argument) for argument in sys.argv[1:3]]
    results, picture = (given + [RESULTS, PICTURE][len(given) :])[:2]
    content = json.loads(results.read_text(encoding="utf-8"))
    draw(points(content["findings"]), content["machine"]["cores"], picture)


if __name__ == "__main__":
    main()
