"""Finished points as Parquet files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.lab.experiments.point_store import PointStore
from tests.lab.experiments import toy

FIGURE = toy.figure(toy.square)
values = st.one_of(st.integers(), st.text(), st.floats(allow_nan=False), st.booleans())
points = st.dictionaries(st.text(min_size=1), values, min_size=1)


def test_what_was_written_is_read_with_the_point_in_every_row(tmp_path: Path) -> None:
    results, point = PointStore(tmp_path), toy.POINTS[1]
    results.write(FIGURE, point, [{"square": 400, "share": None}, {"square": 401, "share": 0.5}], 1.5)
    first, second = results.rows(FIGURE, toy.POINTS)
    assert first["size"] == second["size"] == 20
    assert (first["square"], first["share"], second["share"]) == (400, None, 0.5)
    assert first["took_seconds"] == 1.5
    assert results.missing(FIGURE, toy.POINTS) == [p for p in toy.POINTS if p != point]


def test_rows_come_in_the_order_of_the_points_however_they_were_written(tmp_path: Path) -> None:
    results = PointStore(tmp_path)
    for point in reversed(toy.POINTS):
        results.write(FIGURE, point, [{}], 0)
    assert [row["size"] for row in results.rows(FIGURE, toy.POINTS)] == [10, 20, 30, 40, 50, 60]


def test_a_figure_of_another_version_knows_nothing_of_the_old_ones_points(tmp_path: Path) -> None:
    results = PointStore(tmp_path)
    results.write(FIGURE, toy.POINTS[0], [{"square": 100}], 0)
    assert not results.has(replace(FIGURE, version=2), toy.POINTS[0])


def test_a_folder_of_points_is_one_parquet_table(tmp_path: Path) -> None:
    results = PointStore(tmp_path)
    for point in toy.POINTS:
        results.write(FIGURE, point, toy.square(point), 0)
    table = pyarrow.parquet.read_table(results.folder(FIGURE))
    assert sorted(table["square"].to_pylist()) == [100, 400, 900, 1600, 2500, 3600]


def test_what_is_unfinished_is_not_there_and_is_swept_when_points_are_forgotten(tmp_path: Path) -> None:
    results, point = PointStore(tmp_path), toy.POINTS[0]
    results.write(FIGURE, point, [{}], 0)
    left = results.folder(FIGURE) / ".v1-0123.parquet.77.new"
    left.write_bytes(b"PAR1")
    assert len(results.rows(FIGURE, toy.POINTS)) == 1
    results.forget(FIGURE, toy.POINTS)
    assert list(results.folder(FIGURE).iterdir()) == []


def test_a_point_gives_at_least_one_row(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="gave no row"):
        PointStore(tmp_path).write(FIGURE, toy.POINTS[0], [], 0)


@given(points, points)
def test_points_share_a_file_only_if_they_are_the_same(
    a: dict[str, int | str | float | bool], b: dict[str, int | str | float | bool]
) -> None:
    results = PointStore(Path("results"))
    backwards = dict(reversed(list(a.items())))
    assert results.path(FIGURE, a) == results.path(FIGURE, backwards)
    if results.path(FIGURE, a) == results.path(FIGURE, b):
        assert a == b
