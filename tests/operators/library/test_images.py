"""What pictures show: drawn scenes whose facts are known, drawings in the public domain, and what is no picture."""

from __future__ import annotations

import pickle
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.workloads.city_pictures import Scene, draw

cv2 = pytest.importorskip("cv2", reason="the extra `images` is not installed")

from tamis.operators.library.images import (  # noqa: E402
    PeopleDetector,
    chase_pattern,
    images,
    mob_pattern,
    pedestrian_count,
    traffic_pattern,
    vehicle_count,
)
from tamis.operators.library.images.detectors import (  # noqa: E402  # noqa: E402
    KINDS,
    PATTERNS,
    Vehicle,
    VehicleDetector,
    chases,
    counted,
    groups,
)
from tamis.operators.library.images.pictures import (  # noqa: E402
    MOST_PIXELS,
    Remembered,
    read_picture,
)

FIGURES = Path(__file__).parent / "pictures" / "figures.jpg"
SHOWN = ("car", "taxi", "police_car", "tour_boat", "coast_guard_boat", "any_car", "any_boat")

small_scenes = st.builds(
    Scene,
    groups=st.lists(st.integers(6, 12), max_size=1).map(tuple),
    alone=st.integers(0, 2),
    congestion=st.booleans(),
    accident=st.booleans(),
    police_cars=st.integers(0, 4),
    tour_boats=st.integers(0, 7),
    coast_guard_boats=st.integers(0, 4),
)


def drawn(scene: Scene, seed: int = 1) -> bytes:
    return draw(scene, np.random.default_rng(seed))


def empty(width: int, height: int) -> bytes:
    return bytes(cv2.imencode(".png", np.full((height, width, 3), 190, np.uint8))[1])


@settings(max_examples=8)
@given(small_scenes, st.integers(0, 1000))
def test_scenes_are_read_as_they_were_drawn(scene: Scene, seed: int) -> None:
    image = drawn(scene, seed)
    assert pedestrian_count(image, tamis.Var) == [scene.people]
    assert mob_pattern(image, tamis.Var) == list(scene.groups)
    found = {kind: vehicle_count(image, kind, tamis.Var) for kind in SHOWN}
    assert found["police_car"] == [scene.police_cars]
    assert found["tour_boat"] == [scene.tour_boats]
    assert found["coast_guard_boat"] == [scene.coast_guard_boats]
    assert found["any_boat"] == [scene.tour_boats + scene.coast_guard_boats]
    assert traffic_pattern(image, "congestion") is scene.congestion
    assert traffic_pattern(image, "accident") is scene.accident
    assert traffic_pattern(image, tamis.Var) == ["accident"] * scene.accident + ["congestion"] * scene.congestion
    assert not chase_pattern(image, "police_car", "any_car")


@pytest.mark.parametrize("people", [54, 60])
def test_a_mob_is_counted_to_the_last(people: int) -> None:
    for seed in range(2):
        assert mob_pattern(drawn(Scene(groups=(people,)), seed), tamis.Var) == [people]


def test_two_groups_are_two_mobs_and_a_handful_is_none() -> None:
    image = drawn(Scene(groups=(15, 7, 3), alone=1))
    assert mob_pattern(image, tamis.Var) == [15, 7]
    assert pedestrian_count(image, tamis.Var) == [26]
    assert mob_pattern(image, 7) is True
    assert mob_pattern(image, 3) is False


def test_a_chase_is_a_police_car_with_its_lights_on_behind_another_car() -> None:
    for seed in range(5):
        taxi = drawn(Scene(chased="taxi", police_cars=1), seed)
        car = drawn(Scene(chased="car", police_cars=2), seed)
        assert chase_pattern(taxi, "police_car", "any_car")
        assert chase_pattern(taxi, "police_car", "taxi")
        assert not chase_pattern(taxi, "police_car", "car")
        assert not chase_pattern(taxi, "taxi", "police_car")
        assert chase_pattern(car, "police_car", "car")
        assert not chase_pattern(drawn(Scene(alarm=True, police_cars=1), seed), "police_car", "any_car")
        assert not chase_pattern(drawn(Scene(police_cars=4), seed), "police_car", "any_car")


def test_counts_may_be_given() -> None:
    image = drawn(Scene(police_cars=2, tour_boats=3))
    operators = images()
    assert operators.police_car_count(image, 2) is True
    assert operators.police_car_count(image, 3) is False
    assert operators.tour_boat_count(image, tamis.Var) == [3]
    assert operators.coast_guard_boat_count(image, tamis.Var) == [0]
    assert operators.pedestrian_count(image, 0) is True


def test_people_drawn_by_others_are_found() -> None:
    # Eleven people, of whom the couple shares a window.
    boxes = PeopleDetector().find(read_picture(FIGURES.read_bytes()))
    middles = sorted((boxes[:, 0] + boxes[:, 2] / 2).tolist())
    assert len(middles) == 10
    assert all(60 + 130 * number < x < 150 + 130 * number for number, x in enumerate(middles))


def test_a_photograph_without_anybody_seen_whole_has_nobody() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="it ships a photograph in the public domain")
    portrait = Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg"
    assert pedestrian_count(portrait.read_bytes(), tamis.Var) == [0]


def test_a_surer_detector_finds_fewer() -> None:
    pixels = read_picture(FIGURES.read_bytes())
    found = [len(PeopleDetector(threshold=threshold).find(pixels)) for threshold in (0.8, 2.0, 9.0)]
    assert found[0] > found[1] > found[2] == 0


@pytest.mark.parametrize(("width", "height"), [(1, 1), (64, 127), (63, 128), (64, 128), (300, 40), (65, 129)])
def test_a_picture_smaller_than_a_person_has_nobody(width: int, height: int) -> None:
    image = empty(width, height)
    assert pedestrian_count(image, tamis.Var) == [0]
    assert mob_pattern(image, tamis.Var) == []
    assert traffic_pattern(image, tamis.Var) == []


def test_each_picture_is_looked_at_once_whatever_is_asked() -> None:
    looked: list[bytes] = []

    def look(image: bytes) -> int:
        looked.append(image)
        return len(image)

    remembered = Remembered(look, most=2)
    assert [remembered(image) for image in (b"a", b"bb", b"a", b"bb")] == [1, 2, 1, 2]
    assert looked == [b"a", b"bb"]
    remembered(b"ccc")
    assert len(remembered) == 2
    remembered(b"bb")
    assert looked == [b"a", b"bb", b"ccc"]
    remembered(b"a")
    assert looked == [b"a", b"bb", b"ccc", b"a"]


def test_a_failure_is_not_remembered() -> None:
    answers = iter([ValueError, 3])

    def look(_: bytes) -> Any:
        answer = next(answers)
        if answer is ValueError:
            raise ValueError
        return answer

    remembered = Remembered(look, most=5)
    with pytest.raises(ValueError):
        remembered(b"a")
    assert remembered(b"a") == 3


def png_header(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", len(header)) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    return b"\x89PNG\r\n\x1a\n" + chunk


def segment(marker: int, content: bytes) -> bytes:
    return b"\xff" + bytes([marker]) + struct.pack(">H", 2 + len(content)) + content


SMALL_FRAME = segment(0xC0, b"\x08\0\x08\0\x08\x01\x01\x11\0")
JPEG = FIGURES.read_bytes()


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (b"", "neither"),
        (b"GIF89a....", "neither"),
        (b"\x89PNG\r\n\x1a\n\0\0", "cut off"),
        (b"\xff\xd8\xff\xe0\0\x10", "cut off"),
        (b"\xff\xd8\xff\xe0\0\x02\xff\xff\xff", "cut off"),
        (drawn(Scene())[:60], "damaged"),
        (drawn(Scene())[:-20], "damaged"),
        (JPEG[: len(JPEG) // 2], "damaged"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\x0djunk" + b"\0\0\0\x08" * 8, "damaged"),
        (png_header(12_000_000, 1), "damaged"),
        (png_header(0, 0), "damaged"),
        # What OpenCV would skip, and find another size behind it.
        (JPEG[:2] + b"\xff\xd0" + SMALL_FRAME[2:] + JPEG[2:], "damaged"),
        (JPEG[:2] + b"\xff\x01" + SMALL_FRAME[2:] + JPEG[2:], "damaged"),
        (JPEG[:2] + segment(0xE0, b"") + b"\0\0" + SMALL_FRAME + JPEG[2:], "damaged"),
    ],
)
def test_what_is_no_picture_is_refused(image: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        pedestrian_count(image, tamis.Var)


def test_a_picture_that_would_unfold_to_gigabytes_is_refused_unread() -> None:
    with pytest.raises(ValueError, match=r"60000 × 60000"):
        read_picture(png_header(60_000, 60_000))


@given(st.sampled_from([JPEG, drawn(Scene())]), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=6))
def test_whatever_is_changed_in_a_picture_it_is_read_or_refused(image: bytes, changes: list[tuple[float, int]]) -> None:
    changed = bytearray(image)
    for place, byte in changes:
        changed[int(place * (len(changed) - 1))] = byte
    try:
        height, width, _ = read_picture(bytes(changed)).shape
    except ValueError:
        return
    assert height * width <= MOST_PIXELS


def test_thousands_of_blobs_are_no_vehicles_and_take_no_time() -> None:
    speckled = np.zeros((2000, 3000, 3), np.uint8)
    speckled[::2, ::2] = (40, 30, 200)
    assert VehicleDetector().find(speckled) == ()
    dotted = np.zeros((2000, 3000, 3), np.uint8)
    dotted.reshape(100, 20, 100, 30, 3)[:, 2:18, :, 2:28] = (40, 30, 200)
    with pytest.raises(ValueError, match="more than 2,000 vehicles"):
        VehicleDetector().find(dotted)


def test_two_thousand_vehicles_are_compared_at_once() -> None:
    spread = [car(200 * (n % 50), 200 * (n // 50), 20.0 * (n % 9), lights=True) for n in range(2000)]
    assert not chases(spread, "car", "car")
    assert not PATTERNS["accident"](spread)
    assert not PATTERNS["congestion"](spread)
    assert PATTERNS["accident"]([*spread, car(30, 10, 60)])
    assert chases([*spread, car(100, 0)], "car", "car")


def test_the_size_of_a_jpeg_is_read_from_its_frame() -> None:
    with pytest.raises(ValueError, match=r"1360 × 190 pixels, and at most 1,000"):
        images(most_pixels=1000).pedestrian_count(JPEG, tamis.Var)


def test_operators_travel_with_their_settings() -> None:
    image = FIGURES.read_bytes()
    strict = images("camera.frame", people=PeopleDetector(threshold=9.0)).pedestrian_count
    travelled = pickle.loads(pickle.dumps(strict))
    assert travelled.reads == {"image": "camera.frame"}
    assert travelled(image, tamis.Var) == [0]
    assert travelled.version == strict.version != pedestrian_count.version


def test_filters_may_ask_for_the_kinds_there_are() -> None:
    for parameter in (chase_pattern.formals[1].parameter, vehicle_count.formals[1].parameter):
        assert set(parameter.choices) == set(KINDS) == set(SHOWN)
    assert traffic_pattern.formals[1].parameter.choices == tuple(PATTERNS)


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 900)), max_size=25))
def test_people_in_a_group_are_linked_by_steps_of_a_window(corners: list[tuple[int, int]]) -> None:
    boxes = np.array([(x, y, 64, 128) for x, y in corners], np.int64).reshape(-1, 4)
    reached: list[set[int]] = []
    for number, (x, y) in enumerate(corners):
        joined = [
            group for group in reached if any(np.hypot(x - corners[k][0], y - corners[k][1]) <= 140.8 for k in group)
        ]
        reached = [group for group in reached if group not in joined] + [set().union({number}, *joined)]
    assert groups(boxes) == sorted(map(len, reached), reverse=True)


def car(x: float, y: float, degrees: float = 0.0, **more: Any) -> Vehicle:
    return Vehicle("car", x, y, 50, 20, degrees, **more)


def test_a_full_car_park_is_a_congestion_and_cars_far_apart_are_none() -> None:
    assert PATTERNS["congestion"]([car(70 * number, 0) for number in range(8)])
    assert not PATTERNS["congestion"]([car(70 * number, 0) for number in range(7)])
    assert not PATTERNS["congestion"]([car(200 * number, 0) for number in range(20)])
    # Side by side in lanes of their own, nobody is in anybody's way.
    assert not PATTERNS["congestion"]([car(200 * (number % 10), 30 * (number // 10)) for number in range(20)])


def test_an_accident_is_two_cars_that_touch_crosswise() -> None:
    assert PATTERNS["accident"]([car(0, 0), car(30, 10, 60)])
    assert not PATTERNS["accident"]([car(0, 0), car(30, 10, 5)])
    assert not PATTERNS["accident"]([car(0, 0), car(30, 10, 178)])
    assert not PATTERNS["accident"]([car(0, 0), car(120, 10, 60)])
    assert not PATTERNS["accident"]([car(0, 0), Vehicle("tour_boat", 30, 10, 50, 20, 60)])


def test_two_cars_of_one_colour_that_touch_are_seen_as_one_or_none() -> None:
    pixels = np.full((100, 300, 3), 70, np.uint8)
    pixels[40:66, 20:76] = pixels[40:66, 77:133] = (40, 30, 200)
    assert counted(VehicleDetector().find(pixels), "car") == 2
    pixels[40:66, 76] = (40, 30, 200)
    assert counted(VehicleDetector().find(pixels), "car") == 0
