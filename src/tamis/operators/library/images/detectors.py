"""Image detectors: vehicles by colour, traffic (congestion, accidents, chases), and people by OpenCV's HOG detector.

The vehicle detector is made for pictures drawn with flat colours from above, such as the workload `city_watch` draws;
no photograph looks like that. For photographs, write operators of your own around a trained detector.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from tamis.arrays import Floats, Int64s, UInt8s
from tamis.operators.library.offering import extra

with extra("images"):
    import cv2

Kind: TypeAlias = Literal["car", "taxi", "police_car", "tour_boat", "coast_guard_boat"]
Sort: TypeAlias = Literal[Kind, "any_car", "any_boat"]

KINDS: dict[str, frozenset[str]] = {
    **{kind: frozenset([kind]) for kind in get_args(Kind)},
    "any_car": frozenset(["car", "taxi", "police_car"]),
    "any_boat": frozenset(["tour_boat", "coast_guard_boat"]),
}
"""Sorts of vehicles that a filter may ask for, with the kinds of each."""


@dataclass(frozen=True)
class Livery:
    """Kind of vehicle with its colours: from and to, in OpenCV's hue (0 to 179), saturation and value."""

    kind: Kind
    low: tuple[int, int, int]
    high: tuple[int, int, int]


LIVERIES = (
    Livery("car", (0, 140, 90), (8, 255, 255)),
    Livery("car", (172, 140, 90), (179, 255, 255)),
    Livery("car", (50, 140, 90), (75, 255, 255)),
    Livery("car", (140, 140, 90), (165, 255, 255)),
    Livery("taxi", (23, 140, 90), (32, 255, 255)),
    Livery("police_car", (108, 140, 90), (126, 255, 255)),
    Livery("tour_boat", (11, 140, 90), (19, 255, 255)),
    Livery("coast_guard_boat", (0, 0, 236), (179, 40, 255)),
)
"""Red, green and purple are cars, yellow are taxis, blue the police; orange are tour boats, white the coast guard."""

_LIGHTS = ((0, 180, 230), (8, 255, 255))
_SMALLEST_LIGHT = 12
_MOST = 2_000


@dataclass(frozen=True)
class Vehicle:
    """Vehicle as a rectangle: its middle, its longer and its shorter side, and degrees from 0 to 180.

    `lights`: true if a red light burns on its roof.
    """

    kind: Kind
    x: float
    y: float
    length: float
    width: float
    degrees: float
    lights: bool = False

    @property
    def rectangle(self) -> tuple[tuple[float, float], tuple[float, float], float]:
        return (self.x, self.y), (self.length, self.width), self.degrees


@dataclass(frozen=True)
class VehicleDetector:
    """Detector of vehicles: blobs of a livery's colour of a vehicle's proportions.

    Two of one colour that touch are seen as one, and left out if that is too long. `smallest`: the least number of
    pixels; `longest`: the most that a vehicle may be longer than wide.
    """

    liveries: tuple[Livery, ...] = LIVERIES
    smallest: int = 300
    longest: float = 4.0

    def find(self, pixels: UInt8s) -> tuple[Vehicle, ...]:
        """Finds every vehicle, by kind, and then from the top down and from left to right.

        ValueError if there are thousands: each is compared with each, and no such picture is one of vehicles.
        """
        colours = cv2.cvtColor(pixels, cv2.COLOR_BGR2HSV)
        found: list[Vehicle] = []
        for livery in self.liveries:
            found += itertools.islice(self._of(livery, colours), _MOST + 1 - len(found))
        if len(found) > _MOST:
            raise ValueError(f"the image has more than {_MOST:,} vehicles")
        return tuple(sorted(found, key=lambda vehicle: (vehicle.kind, vehicle.y, vehicle.x)))

    def _of(self, livery: Livery, colours: UInt8s) -> Iterable[Vehicle]:
        mask = cv2.inRange(colours, livery.low, livery.high)
        _, labels, boxes, _ = cv2.connectedComponentsWithStats(mask)
        for label in (1 + np.flatnonzero(boxes[1:, cv2.CC_STAT_AREA] >= self.smallest)).tolist():
            left, top, width, height, _ = boxes[label].tolist()
            part = (slice(top, top + height), slice(left, left + width))
            vehicle = self._vehicle(livery.kind, (labels[part] == label).astype(np.uint8), (left, top))
            if vehicle is not None:
                yield _lit(vehicle, colours)

    def _vehicle(self, kind: Kind, blob: UInt8s, corner: tuple[int, int]) -> Vehicle | None:
        outline, _ = cv2.findContours(blob, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        (x, y), (one, other), degrees = cv2.minAreaRect(max(outline, key=len))
        length, width = max(one, other), min(one, other)
        if width == 0 or length > self.longest * width:
            return None
        along = degrees if one >= other else degrees + 90
        return Vehicle(kind, x + corner[0], y + corner[1], length, width, along % 180)


def counted(vehicles: Sequence[Vehicle], sort: str) -> int:
    """Count of the vehicles of a kind, or of any kind of a sort."""
    return sum(vehicle.kind in KINDS[sort] for vehicle in vehicles)


def _lit(vehicle: Vehicle, colours: Any) -> Vehicle:
    """Vehicle with `lights` set: looked for within the middle of its rectangle, so that no neighbour is seen."""
    half = max(1, int(vehicle.width / 4))
    rows = slice(max(0, int(vehicle.y) - half), int(vehicle.y) + half + 1)
    columns = slice(max(0, int(vehicle.x) - half), int(vehicle.x) + half + 1)
    burning = cv2.countNonZero(cv2.inRange(np.ascontiguousarray(colours[rows, columns]), *_LIGHTS))
    if burning < _SMALLEST_LIGHT:
        return vehicle
    return Vehicle(vehicle.kind, vehicle.x, vehicle.y, vehicle.length, vehicle.width, vehicle.degrees, lights=True)


# Traffic in a picture: the movement of cars, as far as one picture shows it.

with extra("images"):
    import cv2

Pattern: TypeAlias = Literal["accident", "congestion"]

_FEWEST_IN_CONGESTION = 8
_CROSSING = 15.0
"""Degrees from which on two cars do not drive the same way."""


def chases(vehicles: Sequence[Vehicle], pursuer: str, pursued: str) -> bool:
    """True if one with its lights on is in one lane with another, at most four lengths from it."""
    chasing = np.array([one.lights and one.kind in KINDS[pursuer] for one in vehicles], np.bool_)
    chased = np.array([one.kind in KINDS[pursued] for one in vehicles], np.bool_)
    if not chasing.any() or not chased.any():
        return False
    length, width = _sides(vehicles)
    along, aside = _apart(vehicles)
    follows = (_turns(vehicles) <= _CROSSING) & (along <= 5 * length[:, None]) & (aside <= width[:, None])
    np.fill_diagonal(follows, False)
    return bool((follows & chasing[:, None] & chased).any())


def has_congestion(vehicles: Sequence[Vehicle]) -> bool:
    """True if there are eight cars or more, and half of them have less than their length to the next in their lane."""
    cars = _cars(vehicles)
    if len(cars) < _FEWEST_IN_CONGESTION:
        return False
    length, width = _sides(cars)
    along, aside = _apart(cars)
    along[(aside > width[:, None]) | np.eye(len(cars), dtype=np.bool_)] = np.inf
    return bool(np.median(along.min(axis=1) / length) < 2)


def has_accident(vehicles: Sequence[Vehicle]) -> bool:
    """True if two cars touch and stand crosswise."""
    cars = _cars(vehicles)
    if not cars:
        return False
    reach = np.hypot(*_sides(cars)) / 2 + 2
    near = np.hypot(*_apart(cars)) <= reach[:, None] + reach
    pairs = np.argwhere(np.triu(near & (_turns(cars) > _CROSSING), 1)).tolist()
    return any(_touch(cars[one], cars[other]) for one, other in pairs)


PATTERNS: dict[str, Callable[[Sequence[Vehicle]], bool]] = {"accident": has_accident, "congestion": has_congestion}
"""Patterns that `traffic_pattern` detects."""


def _cars(vehicles: Sequence[Vehicle]) -> list[Vehicle]:
    return [vehicle for vehicle in vehicles if vehicle.kind in KINDS["any_car"]]


def _sides(cars: Sequence[Vehicle]) -> tuple[Floats, Floats]:
    return np.array([car.length for car in cars]), np.array([car.width for car in cars])


def _apart(cars: Sequence[Vehicle]) -> tuple[Floats, Floats]:
    """Distances of each other's middle from a car's, along its way and aside of it."""
    middles = np.array([(car.x, car.y) for car in cars])
    way = np.radians([car.degrees for car in cars])
    x, y = (middles[None] - middles[:, None]).transpose(2, 0, 1)
    cosine, sine = np.cos(way)[:, None], np.sin(way)[:, None]
    return np.abs(x * cosine + y * sine), np.abs(y * cosine - x * sine)


def _turns(cars: Sequence[Vehicle]) -> Floats:
    """Degrees between the ways of every two, whichever end is the front."""
    degrees = np.array([car.degrees for car in cars])
    turn = np.abs(degrees[:, None] - degrees) % 180
    return np.asarray(np.minimum(turn, 180 - turn))


def _touch(one: Vehicle, other: Vehicle) -> bool:
    return _overlap(_wider(one), _wider(other)) != cv2.INTERSECT_NONE


def _overlap(one: Any, other: Any) -> int:
    kind, _ = cv2.rotatedRectangleIntersection(one, other)
    return int(kind)


def _wider(vehicle: Vehicle) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Rectangle of a vehicle and a pixel around it: the paint of two that touch ends where they do."""
    middle, (length, width), degrees = vehicle.rectangle
    return middle, (length + 2, width + 2), degrees


# People in a picture, by the detector that OpenCV ships.

with extra("images"):
    import cv2


_WINDOW = (64, 128)
_PADDING = (16, 16)
# Windows that share more of their area than this show the same person.
_MOST_OVERLAP = 0.35


@dataclass(frozen=True)
class PeopleDetector:
    """Detector of people: histograms of oriented gradients and a linear classifier (Dalal and Triggs 2005), by OpenCV.

    Finds upright people, seen whole and from about their own height, at least 100 pixels tall. `threshold`: the
    confidence asked for (lower finds more, and more false positives); `growth`: the step from one size of people to the
    next; `stride`: the step in pixels from one place to the next.
    """

    threshold: float = 0.8
    growth: float = 1.05
    stride: int = 8

    def find(self, pixels: UInt8s) -> Int64s:
        """Finds people, the most certain first. In a picture smaller than a window there is nobody."""
        height, width = pixels.shape[:2]
        if width < _WINDOW[0] or height < _WINDOW[1]:
            # OpenCV does not look whether the window fits, and crashes the process.
            return np.zeros((0, 4), np.int64)
        boxes, sureness = classifier().detectMultiScale(
            pixels,
            hitThreshold=self.threshold,
            winStride=(self.stride, self.stride),
            padding=_PADDING,
            scale=self.growth,
            groupThreshold=0,
        )
        if len(boxes) == 0:
            return np.zeros((0, 4), np.int64)
        # A window that is surer than those it overlaps stands for them; OpenCV's own grouping loses people in a crowd.
        kept = cv2.dnn.NMSBoxes(boxes.tolist(), np.ravel(sureness).tolist(), 0.0, _MOST_OVERLAP)
        return np.asarray(boxes, np.int64)[np.ravel(kept)]


def groups(boxes: Int64s) -> list[int]:
    """Sizes of groups, the largest first: each person is near another, by a window's height or so."""
    if len(boxes) == 0:
        return []
    middles = boxes[:, :2] + boxes[:, 2:] / 2
    apart = np.hypot(*(middles[:, None] - middles[None]).transpose(2, 0, 1))
    near = apart <= 1.1 * np.minimum(boxes[:, None, 3], boxes[None, :, 3])
    group = np.arange(len(boxes))
    while True:
        # The lowest number among those nearby spreads through a group.
        spread = np.where(near, group[None], len(boxes)).min(axis=1)
        if np.array_equal(spread, group):
            break
        group = spread
    return sorted(np.unique(group, return_counts=True)[1].tolist(), reverse=True)


@lru_cache(maxsize=1)
def classifier() -> Any:
    """OpenCV's classifier with the weights that it ships; one per process, usable by any number of threads."""
    descriptor = cv2.HOGDescriptor()
    descriptor.setSVMDetector(cv2.HOGDescriptor.getDefaultPeopleDetector())
    return descriptor
