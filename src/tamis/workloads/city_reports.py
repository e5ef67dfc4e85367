"""Reports of camera pilots and locations of cameras, for the city workload."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

KINDS = {
    "EmergencyVehicle": frozenset(["Unit 42", "Engine 7", "Cutter 5"]),
    "PublicVehicle": frozenset(["Unit 42", "Engine 7"]),
    "Car": frozenset(["Unit 42", "Cab 19"]),
    "Boat": frozenset(["Lady Liberty", "Cutter 5"]),
}
"""Kinds, and who is one: by the kinds that the sample ontology states, and by its rules."""

OPERATORS = {
    "NYPD": frozenset(["Unit 42"]),
    "CityOfNewYork": frozenset(["Unit 42", "Engine 7"]),
    "CoastGuard": frozenset(["Cutter 5"]),
}
"""Who operates what, by the sample ontology and its rules."""

EMERGENCY = KINDS["EmergencyVehicle"]
_UNITS = ("Unit 42", "Engine 7", "Cab 19", "Lady Liberty", "Cutter 5", "Gull", "Nobody")

SETS = {
    "fire": ("Smoke over the roofs", "flames at the pier", "a car is burning"),
    "crowd": ("a crowd gathers", "Protest on the avenue", "they march north"),
    "weapons": ("shots fired near the bank", "man with a knife", "a gun was seen"),
}
"""Sets of keywords, and sentences with one of them."""

_OTHERS = ("All quiet", "Fog, turning back", "the gunnery museum opens", "two marchers rest", "firefly out of service")


@dataclass(frozen=True)
class Report:
    """Report: its text, its topics (names of sets), the number plate in it, and the things named beside it."""

    text: str
    subjects: frozenset[str]
    plate: str | None
    sighted: tuple[str, ...]


def write(rng: np.random.Generator) -> Report:
    subjects = {name for name in SETS if rng.random() < 0.25}
    sentences = [SETS[name][int(rng.integers(3))] for name in sorted(subjects)]
    sentences.append(_OTHERS[int(rng.integers(len(_OTHERS)))])
    plate = None
    if rng.random() < 0.3:
        plate = "".join(rng.choice(list("ABCDEFGHJK"), 3).tolist()) + f"-{int(rng.integers(10_000)):04d}"
        sentences.append(f"suspect in plate {plate}")
    order = rng.permutation(len(sentences)).tolist()
    names = rng.choice(_UNITS, int(rng.integers(0, 3)), replace=False).tolist()
    return Report(". ".join(sentences[number] for number in order), frozenset(subjects), plate, tuple(sorted(names)))


# Locations: spots that are clearly in a borough or in none, and clearly near a landmark or not.

LANDMARKS = {"Times Square": (-73.98513, 40.75800), "Statue of Liberty": (-74.04454, 40.68925)}
RADII = {"Times Square": (1500, 5000), "Statue of Liberty": (1000, 3000)}
"""Metres that subscriptions ask for, by landmark."""

_EARTH = 6_371_000.0
# Distances on a sphere are right to half a percent, as the earth is none.
_CLEAR = 0.02

# Rectangles (west, south, east, north) that are inside the borough by some hundred metres.
_BLOCKS: dict[str, tuple[tuple[str | None, tuple[float, float, float, float]], ...]] = {
    "Bronx": (("Bronx", (-73.905, 40.825, -73.845, 40.880)),),
    "Brooklyn": (("Brooklyn", (-73.985, 40.610, -73.930, 40.670)),),
    "Queens": (("Queens", (-73.860, 40.700, -73.760, 40.750)), ("Queens", (-73.944, 40.744, -73.932, 40.752))),
    "Staten Island": (("Staten Island", (-74.180, 40.560, -74.100, 40.620)),),
    "Times Square": (("Manhattan", (-73.990, 40.752, -73.980, 40.763)),),
    "Harlem": (("Manhattan", (-73.955, 40.800, -73.945, 40.815)),),
    "Statue of Liberty": ((None, (-74.053, 40.684, -74.036, 40.694)),),
    "Upper Bay": ((None, (-74.064, 40.655, -74.048, 40.675)),),
}
AREAS = tuple(_BLOCKS)


@dataclass(frozen=True)
class Location:
    """Location in degrees, and its facts: the borough, if any, and metres to each landmark, right to half a percent."""

    longitude: float
    latitude: float
    borough: str | None
    metres: dict[str, float]

    def within(self, landmark: str, radius: float) -> bool:
        return self.metres[landmark] <= radius


def locate(area: str, rng: np.random.Generator) -> Location:
    """Random location in an area, whose distance from every landmark is clear of all subscriptions' radii."""
    blocks = _BLOCKS[area]
    while True:
        borough, (west, south, east, north) = blocks[int(rng.integers(len(blocks)))]
        longitude = round(float(rng.uniform(west, east)), 6)
        latitude = round(float(rng.uniform(south, north)), 6)
        metres = {name: _metres(longitude, latitude, *spot) for name, spot in LANDMARKS.items()}
        if all(abs(metres[name] / radius - 1) > _CLEAR for name, radii in RADII.items() for radius in radii):
            return Location(longitude, latitude, borough, metres)


def _metres(longitude: float, latitude: float, to_longitude: float, to_latitude: float) -> float:
    """Distance on a sphere, by the haversine formula."""
    y1, y2 = math.radians(latitude), math.radians(to_latitude)
    x = math.radians(to_longitude - longitude)
    h = math.sin((y2 - y1) / 2) ** 2 + math.cos(y1) * math.cos(y2) * math.sin(x / 2) ** 2
    return 2 * _EARTH * math.asin(math.sqrt(h))
