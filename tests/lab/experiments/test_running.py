"""Points spread over Spark's workers: side by side, alone, failing, killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tamis.lab.experiments.point_store import PointStore
from tamis.lab.experiments.reporting import run_missing
from tamis.lab.measuring import Figure
from tests.lab.experiments import toy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _functions_by_value(spark: SparkSession) -> None:
    toy.by_value()


def sizes(results: PointStore, figure: Figure) -> list[int]:
    return [row["size"] for row in results.rows(figure, toy.POINTS)]


def test_every_point_is_measured_by_a_worker_and_kept(spark: SparkSession, tmp_path: Path) -> None:
    results, figure, told = PointStore(tmp_path), toy.figure(toy.square), list[int]()
    assert run_missing(spark, figure, toy.POINTS, results, told.append) == []
    rows = results.rows(figure, toy.POINTS)
    assert [row["square"] for row in rows] == [100, 400, 900, 1600, 2500, 3600]
    assert os.getpid() not in {row["worker"] for row in rows}
    assert told[-1] == len(toy.POINTS)


def test_points_that_must_run_alone_run_one_after_the_other_in_one_worker(spark: SparkSession, tmp_path: Path) -> None:
    results, figure = PointStore(tmp_path), toy.figure(toy.square, alone=True)
    run_missing(spark, figure, toy.POINTS, results)
    rows = results.rows(figure, toy.POINTS)
    assert len({row["worker"] for row in rows}) == 1
    assert all(before["ended"] <= after["begun"] for before, after in pairwise(rows))


def test_what_is_there_is_not_measured_again(spark: SparkSession, tmp_path: Path) -> None:
    results, figure = PointStore(tmp_path), toy.figure(toy.square)
    for point in toy.POINTS[:4]:
        results.write(figure, point, [{"square": -1}], 0)
    run_missing(spark, figure, toy.POINTS, results)
    assert [row["square"] for row in results.rows(figure, toy.POINTS)] == [-1, -1, -1, -1, 2500, 3600]


def test_a_point_that_fails_does_not_stop_the_others(spark: SparkSession, tmp_path: Path) -> None:
    results, figure = PointStore(tmp_path), toy.figure(toy.square_of_some, alone=True)
    (failure,) = run_missing(spark, figure, toy.POINTS, results)
    assert failure.point == toy.POINTS[1]
    assert failure.why == "ValueError: 20 is not to my taste"
    assert sizes(results, figure) == [10, 30, 40, 50, 60]


def test_a_run_whose_worker_was_killed_goes_on_where_it_stopped(spark: SparkSession, tmp_path: Path) -> None:
    from py4j.protocol import Py4JJavaError

    results, figure = PointStore(tmp_path / "results"), toy.figure(toy.killed_once(str(tmp_path)), alone=True)
    with pytest.raises(Py4JJavaError):
        run_missing(spark, figure, toy.POINTS, results)
    assert sizes(results, figure) == [10, 20, 30]
    before = {row["size"]: row["worker"] for row in results.rows(figure, toy.POINTS)}
    assert run_missing(spark, figure, toy.POINTS, results) == []
    after = {row["size"]: row["worker"] for row in results.rows(figure, toy.POINTS)}
    assert list(after) == [10, 20, 30, 40, 50, 60]
    assert {size: after[size] for size in before} == before
    assert after[40] not in before.values()


@pytest.mark.slow
def test_a_run_that_was_killed_with_all_its_processes_goes_on_where_it_stopped(
    spark: SparkSession, tmp_path: Path
) -> None:
    results, figure = PointStore(tmp_path / "results"), toy.figure(toy.stuck(str(tmp_path)), alone=True)
    program = (
        "from pathlib import Path\n"
        "from tamis.lab.experiments.point_store import PointStore\n"
        "from tamis.lab.experiments.reporting import run_missing\n"
        "from tamis import pipeline\n"
        "from tests.lab.experiments import toy\n"
        "toy.by_value()\n"
        f"folder = {str(tmp_path)!r}\n"
        "figure = toy.figure(toy.stuck(folder), alone=True)\n"
        "run_missing(pipeline.session('local[1]'), figure, toy.POINTS, PointStore(Path(folder) / 'results'))\n"
    )
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable}
    child = subprocess.Popen([sys.executable, "-c", program], env=environment, start_new_session=True)
    try:
        deadline = time.monotonic() + 120
        while len(sizes(results, figure)) < 3:
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    kept = {path.name: path.stat().st_mtime_ns for path in results.folder(figure).glob("*.parquet")}
    assert len(kept) == 3
    (tmp_path / "free").touch()
    assert run_missing(spark, figure, toy.POINTS, results) == []
    assert sizes(results, figure) == [10, 20, 30, 40, 50, 60]
    assert kept.items() <= {path.name: path.stat().st_mtime_ns for path in results.folder(figure).iterdir()}.items()
