"""Subscriptions of the city's watchers: those of P0, and others of their form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tamis.workloads.city_pictures import Scene
from tamis.workloads.city_reports import EMERGENCY, KINDS, OPERATORS, RADII, SETS, Location, Report

BOROUGHS = ("Bronx", "Manhattan", "Queens", "Brooklyn", "Staten Island")
MOBS = (10, 20, 50)
CROWDS = (10, 50, 250)
"""Numbers of people that subscriptions ask for: scenes have clearly more or clearly fewer."""


@dataclass(frozen=True)
class Sight:
    """All that is true of an event."""

    location: Location
    scene: Scene
    report: Report


@dataclass(frozen=True)
class Watch:
    """A subscription: its text, and whether it should match, by what is true of the event."""

    id: str
    text: str
    holds: Callable[[Sight], bool]


def of_the_paper() -> list[Watch]:
    """S1 to S5 of Liu et al. 2007, §2.1, in the language of filters; distances are in metres."""
    return [
        chase("S1", "Bronx", "any_car"),
        mob("S2", "Bronx", 50),
        crowded_congestion("S3", "Times Square", 5000, 250),
        unattended_accident("S4", "Bronx", 2),
        unguarded_boats("S5", "Statue of Liberty", 1000),
    ]


def watches(rng: np.random.Generator) -> Iterator[Watch]:
    """Others without end, over other places, kinds and numbers; many share their predicates."""
    number = 0
    while True:
        borough = BOROUGHS[int(rng.choice(5, p=(0.4, 0.3, 0.1, 0.1, 0.1)))]
        landmark = ("Times Square", "Statue of Liberty")[int(rng.integers(2))]
        radius = RADII[landmark][int(rng.integers(2))]
        id = f"w{number}"
        match int(rng.integers(9)):
            case 0:
                yield chase(id, borough, ("any_car", "taxi", "car")[int(rng.integers(3))])
            case 1:
                yield mob(id, borough, MOBS[int(rng.integers(3))])
            case 2:
                yield crowded_congestion(id, landmark, radius, CROWDS[int(rng.integers(3))])
            case 3:
                yield unattended_accident(id, borough, int(rng.integers(1, 4)))
            case 4:
                yield unguarded_boats(id, landmark, radius)
            case 5:
                yield sighting(id, borough, tuple(KINDS)[int(rng.integers(len(KINDS)))])
            case 6:
                yield operated(id, borough, tuple(OPERATORS)[int(rng.integers(len(OPERATORS)))])
            case 7:
                yield reported(id, landmark, radius, tuple(SETS)[int(rng.integers(len(SETS)))])
            case _:
                yield plate(id, borough)
        number += 1


def chase(id: str, borough: str, pursued: str) -> Watch:
    def holds(sight: Sight) -> bool:
        chased = sight.scene.chased
        return _in(sight, borough) and (chased == pursued or (chased is not None and pursued == "any_car"))

    return Watch(id, f"loc_in('{borough}') AND chase_pattern('police_car', '{pursued}')", holds)


def mob(id: str, borough: str, people: int) -> Watch:
    def holds(sight: Sight) -> bool:
        return _in(sight, borough) and max(sight.scene.groups, default=0) > people

    return Watch(id, f"loc_in('{borough}') AND mob_pattern(?people) AND ?people > {people}", holds)


def crowded_congestion(id: str, landmark: str, radius: int, people: int) -> Watch:
    def holds(sight: Sight) -> bool:
        scene = sight.scene
        return sight.location.within(landmark, radius) and scene.congestion and scene.people > people

    text = f"loc_within('{landmark}', {radius}) AND traffic_pattern('congestion')"
    return Watch(id, f"{text} AND pedestrian_count(?ped) AND ?ped > {people}", holds)


def unattended_accident(id: str, borough: str, police: int) -> Watch:
    def holds(sight: Sight) -> bool:
        scene = sight.scene
        return _in(sight, borough) and scene.congestion and scene.accident and scene.police_cars < police

    text = f"loc_in('{borough}') AND traffic_pattern('congestion') AND traffic_pattern('accident')"
    return Watch(id, f"{text} AND police_car_count(?pol) AND ?pol < {police}", holds)


def unguarded_boats(id: str, landmark: str, radius: int) -> Watch:
    def holds(sight: Sight) -> bool:
        scene = sight.scene
        return sight.location.within(landmark, radius) and scene.tour_boats > 2 * scene.coast_guard_boats

    text = f"distance_from('{landmark}', ?x) AND ?x < {radius}"
    return Watch(id, f"{text} AND tour_boat_count(?y) AND coast_guard_boat_count(?z) AND ?y > 2 * ?z", holds)


def sighting(id: str, borough: str, kind: str) -> Watch:
    def holds(sight: Sight) -> bool:
        return _in(sight, borough) and any(name in KINDS[kind] for name in sight.report.sighted)

    return Watch(id, f"loc_in('{borough}') AND is_a('{kind}')", holds)


def operated(id: str, borough: str, organisation: str) -> Watch:
    def holds(sight: Sight) -> bool:
        return _in(sight, borough) and any(name in OPERATORS[organisation] for name in sight.report.sighted)

    return Watch(id, f"loc_in('{borough}') AND related('operatedBy', '{organisation}')", holds)


def reported(id: str, landmark: str, radius: int, keywords: str) -> Watch:
    def holds(sight: Sight) -> bool:
        return sight.location.within(landmark, radius) and keywords in sight.report.subjects

    return Watch(id, f"loc_within('{landmark}', {radius}) AND mentions('{keywords}', ?word)", holds)


def plate(id: str, borough: str) -> Watch:
    def holds(sight: Sight) -> bool:
        # Where nothing was named, neither a call about it holds nor its negation.
        named = set(sight.report.sighted)
        return _in(sight, borough) and sight.report.plate is not None and bool(named) and not named & EMERGENCY

    pattern = "plate ([A-Z]{3}-[0-9]{4})"
    return Watch(id, f"loc_in('{borough}') AND finds('{pattern}', ?plate) AND NOT is_a('EmergencyVehicle')", holds)


def _in(sight: Sight, borough: str) -> bool:
    return sight.location.borough == borough
