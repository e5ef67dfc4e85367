"""The points of a figure, spread over Spark's workers."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tamis.lab.experiments.point_store import PointStore
from tamis.lab.measuring.figure import Figure, Point

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL = 0.25  # seconds
_GROUP = "tamis experiments"


class Failure(NamedTuple):
    """A point that could not be measured, and why."""

    point: Point
    why: str


def run_missing(
    session: SparkSession,
    figure: Figure,
    points: Sequence[Point],
    results: PointStore,
    told: Callable[[int], None] = lambda done: None,
) -> list[Failure]:
    """Measures what is not there yet: a task a point, or one task for all of them where they must run alone.

    Workers write what they have finished into the results' folder, which all of them must see; so whatever ends a run
    before its time, the next one goes on from there. A point that fails does not stop the others. `told` hears now and
    then how many are done.
    """
    missing = results.missing(figure, points)
    if not missing:
        return []
    context = session.sparkContext
    work = partial(_measured, figure, str(results.root.absolute()))

    def collected() -> list[Failure]:
        context.setJobGroup(_GROUP, figure.name, interruptOnCancel=True)
        return context.parallelize(missing, 1 if figure.alone else len(missing)).mapPartitions(work).collect()

    with ThreadPoolExecutor(1) as background:
        job = background.submit(collected)
        try:
            while not wait([job], timeout=_POLL).done:
                told(len(points) - len(results.missing(figure, points)))
        except BaseException:
            context.cancelJobGroup(_GROUP)  # or the background would be waited for
            raise
        told(len(points) - len(results.missing(figure, points)))
        return job.result()


def _measured(figure: Figure, root: str, points: Iterable[Point]) -> Iterator[Failure]:
    """In a worker: measures points one after the other, and writes each down."""
    results = PointStore(Path(root))
    for point in points:
        begun = time.perf_counter()
        try:
            rows = figure.run(point)
            results.write(figure, point, rows, time.perf_counter() - begun)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on, and whoever asked is told
            yield Failure(dict(point), f"{type(error).__name__}: {error}")
        rows = []
        gc.collect()  # the next one may need the memory
