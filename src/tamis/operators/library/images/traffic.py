"""What cars do, as far as one picture shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.operators.library.extras import extra
from tamis.operators.library.images.vehicles import KINDS, Vehicle

with extra("images"):
    import cv2

Reals: TypeAlias = npt.NDArray[np.float64]
Pattern: TypeAlias = Literal["accident", "congestion"]

_FEWEST_IN_CONGESTION = 8
_CROSSING = 15.0
"""Degrees from which on two cars do not drive the same way."""


def chases(vehicles: Sequence[Vehicle], pursuer: str, pursued: str) -> bool:
    """Whether one with its lights on is in one lane with another, at most four lengths from it."""
    return any(
        one.lights and one.kind in KINDS[pursuer] and other.kind in KINDS[pursued] and _follows(one, other)
        for one in vehicles
        for other in vehicles
        if one is not other
    )


def has_congestion(vehicles: Sequence[Vehicle]) -> bool:
    """Whether there are eight cars or more, and half of them have less than their length to the next in their lane."""
    cars = _cars(vehicles)
    if len(cars) < _FEWEST_IN_CONGESTION:
        return False
    length, width = (np.array([getattr(car, side) for car in cars]) for side in ("length", "width"))
    along, aside = _apart(cars)
    along[(aside > width[:, None]) | np.eye(len(cars), dtype=np.bool_)] = np.inf
    return bool(np.median(along.min(axis=1) / length) < 2)


def has_accident(vehicles: Sequence[Vehicle]) -> bool:
    """Whether two cars touch and stand crosswise."""
    return any(_turn(one, other) > _CROSSING and _touch(one, other) for one, other in combinations(_cars(vehicles), 2))


PATTERNS: dict[str, Callable[[Sequence[Vehicle]], bool]] = {"accident": has_accident, "congestion": has_congestion}
"""What `traffic_pattern` knows."""


def _cars(vehicles: Sequence[Vehicle]) -> list[Vehicle]:
    return [vehicle for vehicle in vehicles if vehicle.kind in KINDS["any_car"]]


def _apart(cars: Sequence[Vehicle]) -> tuple[Reals, Reals]:
    """How far each other's middle is from a car's, along its way and aside of it."""
    middles = np.array([(car.x, car.y) for car in cars])
    way = np.radians([car.degrees for car in cars])
    x, y = (middles[None] - middles[:, None]).transpose(2, 0, 1)
    cosine, sine = np.cos(way)[:, None], np.sin(way)[:, None]
    return np.abs(x * cosine + y * sine), np.abs(y * cosine - x * sine)


def _follows(one: Vehicle, other: Vehicle) -> bool:
    along, aside = _apart((one, other))
    return _turn(one, other) <= _CROSSING and along[0, 1] <= 5 * one.length and aside[0, 1] <= one.width


def _turn(one: Vehicle, other: Vehicle) -> float:
    """Degrees between two ways, whichever end is the front."""
    turn = abs(one.degrees - other.degrees) % 180
    return min(turn, 180 - turn)


def _touch(one: Vehicle, other: Vehicle) -> bool:
    return _overlap(_wider(one), _wider(other)) != cv2.INTERSECT_NONE


def _overlap(one: Any, other: Any) -> int:
    kind, _ = cv2.rotatedRectangleIntersection(one, other)
    return int(kind)


def _wider(vehicle: Vehicle) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Its rectangle and a pixel around it: the paint of two that touch ends where they do."""
    middle, (length, width), degrees = vehicle.rectangle
    return middle, (length + 2, width + 2), degrees
