"""Traffic in a picture: the movement of cars, as far as one picture shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from tamis.arrays import Floats
from tamis.operators.library.images.vehicles import KINDS, Vehicle
from tamis.operators.library.offering import extra

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
"""What `traffic_pattern` knows."""


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
    """Its rectangle and a pixel around it: the paint of two that touch ends where they do."""
    middle, (length, width), degrees = vehicle.rectangle
    return middle, (length + 2, width + 2), degrees
