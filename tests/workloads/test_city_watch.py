"""The watched city: the same for everybody, valid, and clear about what should match."""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
import pytest

from tamis.workloads import city_watch
from tamis.workloads.city_pictures import Canvas, Scene, Shape, draw
from tamis.workloads.city_reports import AREAS, RADII, locate


def test_the_same_seed_gives_the_same_city() -> None:
    first, second, other = city_watch(30, 12, 4), city_watch(30, 12, 4), city_watch(30, 12, 5)
    assert first.subscriptions.equals(second.subscriptions)
    assert first.events.equals(second.events)
    assert first.truth.equals(second.truth)
    assert not first.subscriptions.equals(other.subscriptions)
    assert not first.events.equals(other.events)


def test_events_fit_the_schema() -> None:
    city = city_watch(5, 12)
    checked = city.schema.check(pa.Table.from_batches(city.batches()).combine_chunks().to_batches()[0])
    assert checked.violations.num_rows == 0
    assert len(checked.valid) == 12


def test_subscriptions_begin_with_those_of_the_paper_and_share_what_they_ask() -> None:
    texts = city_watch(200, 0).subscriptions
    assert texts["id"].to_pylist()[:6] == ["S1", "S2", "S3", "S4", "S5", "w0"]
    assert len(set(texts["id"].to_pylist())) == 200
    asked = [text for text in texts["filter"].to_pylist() if "loc_in('Bronx')" in text]
    assert len(asked) > 30


def test_more_events_or_subscriptions_leave_the_first_ones_as_they_are() -> None:
    assert city_watch(9, 0).subscriptions.slice(0, 5).equals(city_watch(5, 0).subscriptions)
    assert city_watch(5, 3).events.equals(city_watch(5, 6).events.slice(0, 3))


def test_places_are_clearly_within_a_radius_or_not() -> None:
    rng = np.random.default_rng(1)
    for area in AREAS * 20:
        location = locate(area, rng)
        for landmark, radii in RADII.items():
            assert all(abs(location.metres[landmark] / radius - 1) > 0.02 for radius in radii)


def test_a_picture_is_a_png_of_its_pixels() -> None:
    canvas = Canvas(5, 4, (10, 20, 30))
    canvas.paint(Shape(2, 2).box(1, 1, 10, 10).cover, 4, 3, (200, 100, 50))
    image = canvas.png()
    length = int.from_bytes(image[33:37], "big")
    rows = np.frombuffer(zlib.decompress(image[41 : 41 + length]), np.uint8).reshape(4, 16)
    assert rows[:, 0].tolist() == [0] * 4
    pixels = rows[:, 1:].reshape(4, 5, 3)
    assert pixels[0, 0].tolist() == [10, 20, 30]
    assert pixels[3, 4].tolist() == [200, 100, 50]
    assert pixels[2, 4].tolist() == [10, 20, 30]


def test_what_hangs_over_the_edge_of_a_picture_is_cut_off() -> None:
    canvas = Canvas(3, 3, (0, 0, 0))
    canvas.paint(Shape(4, 4).box(2, 2, 10, 10).cover, -3, -3, (255, 255, 255))
    canvas.paint(Shape(4, 4).box(2, 2, 10, 10).cover, 2, 2, (9, 9, 9))
    assert canvas._pixels[..., 0].tolist() == [[255, 0, 0], [0, 0, 0], [0, 0, 9]]


def test_a_road_has_room_for_so_many_police_cars_only() -> None:
    with pytest.raises(ValueError, match="no room for 50"):
        draw(Scene(police_cars=50), np.random.default_rng(1))
