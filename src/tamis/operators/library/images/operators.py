"""Image operators on an event's picture: people, groups, vehicles, chases and traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from tamis.arrays import Int64s
from tamis.operators.declaring import operator
from tamis.operators.library.images.detectors import (
    PATTERNS,
    Pattern,
    PeopleDetector,
    Sort,
    Vehicle,
    VehicleDetector,
    chases,
    classifier,
    counted,
    groups,
)
from tamis.operators.library.images.pictures import MOST_PIXELS, Remembered, read_picture
from tamis.operators.library.offering import version_of
from tamis.operators.registry import Operator, Var

_FEWEST_IN_A_MOB = 5
_PICTURES = 4096
_MILLISECONDS_FOR_PEOPLE, _MILLISECONDS_FOR_VEHICLES = 300.0, 30.0


class Images(NamedTuple):
    """Image operators on one attribute; `operators=[*images()]` hands over all."""

    mob_pattern: Operator
    pedestrian_count: Operator
    chase_pattern: Operator
    traffic_pattern: Operator
    vehicle_count: Operator
    police_car_count: Operator
    tour_boat_count: Operator
    coast_guard_boat_count: Operator


def images(
    image: str = "image",
    *,
    people: PeopleDetector | None = None,
    vehicles: VehicleDetector | None = None,
    smallest_mob: int = _FEWEST_IN_A_MOB,
    most_pixels: int = MOST_PIXELS,
) -> Images:
    """Operators on the pictures (PNG or JPEG) of an attribute. People and vehicles are looked for once a picture.

    A picture of more than `most_pixels` is not read: a small file may unfold to one that takes minutes.
    """
    calls = _Calls(people or PeopleDetector(), vehicles or VehicleDetector(), smallest_mob, most_pixels)
    declared: dict[str, Any] = {"reads": {"image": image}, "version": version_of(calls)}
    for_people = operator(**declared, cost=_MILLISECONDS_FOR_PEOPLE, prepare=classifier)
    for_vehicles = operator(**declared, cost=_MILLISECONDS_FOR_VEHICLES)
    return Images(
        for_people(calls.mob_pattern),
        for_people(calls.pedestrian_count),
        for_vehicles(calls.chase_pattern),
        for_vehicles(calls.traffic_pattern),
        for_vehicles(calls.vehicle_count),
        for_vehicles(calls.police_car_count),
        for_vehicles(calls.tour_boat_count),
        for_vehicles(calls.coast_guard_boat_count),
    )


@dataclass(frozen=True)
class _Calls:
    """Functions of the operators. Travels to other processes as the detectors' settings."""

    people: PeopleDetector
    vehicles: VehicleDetector
    smallest_mob: int
    most_pixels: int

    def mob_pattern(self, image: bytes, people: int = Var) -> bool | list[int]:
        """Binds the size of every group of at least five people who stand together."""
        found = [size for size in groups(_people(self.people, self.most_pixels)(image)) if size >= self.smallest_mob]
        return found if people is Var else people in found

    def pedestrian_count(self, image: bytes, count: int = Var) -> bool | list[int]:
        """Binds the number of people in the picture, 0 included."""
        return _count(len(_people(self.people, self.most_pixels)(image)), count)

    def chase_pattern(self, image: bytes, pursuer: Sort, pursued: Sort) -> bool:
        """True if a vehicle with its lights on is close to another in the same lane."""
        return chases(_vehicles(self.vehicles, self.most_pixels)(image), pursuer, pursued)

    def traffic_pattern(self, image: bytes, pattern: Pattern = Var) -> bool | list[str]:
        """True if there is congestion, or an accident; a variable binds which of them."""
        found = _vehicles(self.vehicles, self.most_pixels)(image)
        if pattern is Var:
            return [name for name, holds in PATTERNS.items() if holds(found)]
        return PATTERNS[pattern](found)

    def vehicle_count(self, image: bytes, kind: Sort, count: int = Var) -> bool | list[int]:
        """Binds the number of vehicles of a kind, 0 included."""
        return _count(counted(_vehicles(self.vehicles, self.most_pixels)(image), kind), count)

    def police_car_count(self, image: bytes, count: int = Var) -> bool | list[int]:
        """Binds the number of police cars, 0 included."""
        return self.vehicle_count(image, "police_car", count)

    def tour_boat_count(self, image: bytes, count: int = Var) -> bool | list[int]:
        """Binds the number of tour boats, 0 included."""
        return self.vehicle_count(image, "tour_boat", count)

    def coast_guard_boat_count(self, image: bytes, count: int = Var) -> bool | list[int]:
        """Binds the number of boats of the coast guard, 0 included."""
        return self.vehicle_count(image, "coast_guard_boat", count)


def _count(found: int, given: int) -> bool | list[int]:
    return [found] if given is Var else found == given


@lru_cache(maxsize=8)
def _people(detector: PeopleDetector, most_pixels: int) -> Remembered[Int64s]:
    """Detector of people with its cache: one in a process."""
    return Remembered(lambda image: detector.find(read_picture(image, most_pixels)), _PICTURES)


@lru_cache(maxsize=8)
def _vehicles(detector: VehicleDetector, most_pixels: int) -> Remembered[Sequence[Vehicle]]:
    return Remembered(lambda image: detector.find(read_picture(image, most_pixels)), _PICTURES)
