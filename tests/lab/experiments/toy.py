"""Figures that cost nothing: who ran a point, and when, is all they measure."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tamis.lab.measuring import Check, Figure, Point, Rows, Style, Table, Verdict, axes_of, curves, pivot

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

POINTS: Sequence[Point] = [{"size": 10 * (k + 1), "word": "a"} for k in range(6)]


def figure(run: Callable[[Point], Rows], *, alone: bool = False, version: int = 1, name: str = "toy/square") -> Figure:
    return Figure(
        name, "squares", "A square is as large as its side times its side: 400 at 20.", "As in the paper.",
        version=version, alone=alone, grid=lambda scale: POINTS, run=run, draw=draw, table=table, verdict=verdict,
    )  # fmt: skip


def square(point: Point) -> Rows:
    begun = time.monotonic()
    return [{"square": int(point["size"]) ** 2, "worker": os.getpid(), "begun": begun, "ended": time.monotonic()}]


def square_of_some(point: Point) -> Rows:
    if point["size"] == 20:
        raise ValueError("20 is not to my taste")
    return square(point)


def killed_once(folder: str) -> Callable[[Point], Rows]:
    """The worker is killed in the middle of the fourth point, the first time that it comes to it."""

    def run(point: Point) -> Rows:
        struck = Path(folder) / "struck"
        if point["size"] == 40 and not struck.exists():
            struck.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return square(point)

    return run


def stuck(folder: str) -> Callable[[Point], Rows]:
    """The fourth point does not end before there is a file `free`."""

    def run(point: Point) -> Rows:
        while point["size"] == 40 and not (Path(folder) / "free").exists():
            time.sleep(0.01)
        return square(point)

    return run


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    curves(axes, rows, x="size", y="square", series="word", styles={"a": Style("a", "#333333")})
    axes_of(axes, x="size", y="square")


def table(rows: Rows) -> Table:
    return pivot(rows, x="size", series="word", y="square", names={"a": "square | area"}, form="{:,}".format)


def verdict(rows: Rows) -> Verdict:
    right = all(row["square"] == row["size"] ** 2 for row in rows)
    return Verdict([Check("at 20", "400", str(rows[1]["square"]), right)], "Nothing else was to be expected.")


def by_value() -> None:
    """Workers do not have the tests: Spark hands them this module's functions whole."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
