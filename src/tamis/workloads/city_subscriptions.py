"""City workload (P0, §2.1): subscriptions over camera events that only expensive operators tell apart, and events with
known matches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.schema import Schema
from tamis.workloads import city_reports as reports
from tamis.workloads.city_pictures import Scene, draw
from tamis.workloads.city_reports import AREAS, EMERGENCY, KINDS, OPERATORS, RADII, SETS, Location, Report, locate
from tamis.workloads.workload import Workload

BOROUGHS = ("Bronx", "Manhattan", "Queens", "Brooklyn", "Staten Island")
MOBS = (10, 20, 50)
CROWDS = (10, 50, 250)
"""Numbers of people that subscriptions ask for: scenes have clearly more or clearly fewer."""


@dataclass(frozen=True)
class Sight:
    """Facts of an event."""

    location: Location
    scene: Scene
    report: Report


@dataclass(frozen=True)
class Watch:
    """Subscription: its text, and a function of an event's facts that says if it matches."""

    id: str
    text: str
    holds: Callable[[Sight], bool]


def of_the_paper() -> list[Watch]:
    """S1 to S5 of Liu et al. 2007, §2.1, as filters; distances are in metres."""
    return [
        chase("S1", "Bronx", "any_car"),
        mob("S2", "Bronx", 50),
        crowded_congestion("S3", "Times Square", 5000, 250),
        unattended_accident("S4", "Bronx", 2),
        unguarded_boats("S5", "Statue of Liberty", 1000),
    ]


def watches(rng: np.random.Generator) -> Iterator[Watch]:
    """Endless variations, over other places, kinds and numbers; many share their predicates."""
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


# The workload: events of cameras over a city.
#
# Each event is generated from a chosen situation, so its matches are known without calling the operators (`truth`).

__all__ = ["CityWatch", "city_watch", "city_watch_schema"]

_FIRST = datetime(2024, 5, 1, 6, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class CityWatch(Workload):
    """Workload with known matches: `truth` has a row for each, event (row number) and subscription (id)."""

    truth: pa.Table


def city_watch_schema() -> Schema:
    """Schema of a camera's snapshot: the image, its place and time, and the pilot's report."""
    return Schema.from_dict(
        {
            "attributes": {
                "camera": "string",
                "taken": "timestamp",
                "longitude": "float",
                "latitude": "float",
                "altitude": "float",
                "speed": "float",
                "image": "binary",
                "report": "string",
                "sighted": "string",
            },
            "event_types": {
                "snapshot": {
                    **dict.fromkeys(("camera", "taken", "longitude", "latitude"), "mandatory"),
                    **dict.fromkeys(("altitude", "speed", "image", "report"), "optional"),
                    "sighted": ["optional", "multiple"],
                }
            },
        }
    )


def city_watch(subscriptions: int, events: int, seed: int = 1) -> CityWatch:
    """City workload: P0's S1 to S5 and others of their form; about half of the events are made to match one of the
    five.

    A crowd of some 260 is in one event of twenty or so: looking at it takes an operator seconds.
    """
    others = watches(np.random.default_rng([seed, 0]))
    listed = list(itertools.islice(itertools.chain(of_the_paper(), others), subscriptions))
    # Each event has a generator of its own, so that it does not depend on how many there are.
    drawn = [np.random.default_rng([seed, 1, number]) for number in range(events)]
    sights = [_sight(rng) for rng in drawn]
    schema = city_watch_schema()
    rows = [_row(number, sight, rng) for number, (sight, rng) in enumerate(zip(sights, drawn, strict=True))]
    return CityWatch(
        "city_watch",
        schema,
        pa.table({"id": [watch.id for watch in listed], "filter": [watch.text for watch in listed]}),
        pa.Table.from_pylist(rows, pa.schema([schema.arrow_schema.field(name) for name in _NAMES])),
        truth=_truth(sights, listed),
    )


_NAMES = ("camera", "taken", "longitude", "latitude", "altitude", "speed", "image", "report", "sighted")
_SMALL, _LARGE, _HUGE = (7, 14, 15, 16, 26, 28), (54, 55, 56, 57), (256, 258, 260)


def _sight(rng: np.random.Generator) -> Sight:
    """Facts of an event at a place: one of the paper's five situations, perhaps with one condition missed, or none."""
    missed = int(rng.integers(5))
    kind = int(rng.choice(6, p=(0.18, 0.15, 0.08, 0.18, 0.18, 0.23)))
    scene, area = (_chase, _mob, _congestion, _accident, _boats, _quiet)[kind](missed, rng)
    if missed == 4:
        area = AREAS[int(rng.integers(len(AREAS)))]
    return Sight(locate(area, rng), scene, reports.write(rng))


def _chase(missed: int, rng: np.random.Generator) -> tuple[Scene, str]:
    chased = Scene(chased="taxi" if rng.random() < 0.5 else "car", police_cars=int(rng.integers(1, 4)))
    return (replace(chased, chased=None, alarm=missed == 0) if missed in (0, 1) else chased), "Bronx"


def _mob(missed: int, rng: np.random.Generator) -> tuple[Scene, str]:
    if missed == 0:
        # More than fifty people, but not together.
        return Scene(groups=(28, 26)), "Bronx"
    sizes = _SMALL if missed == 1 else _LARGE
    return Scene(groups=(_one_of(sizes, rng),), alone=int(rng.integers(2))), "Bronx"


def _congestion(missed: int, rng: np.random.Generator) -> tuple[Scene, str]:
    sizes = _LARGE if missed == 0 else _HUGE
    return Scene(groups=(_one_of(sizes, rng),), congestion=missed != 1), "Times Square"


def _accident(missed: int, rng: np.random.Generator) -> tuple[Scene, str]:
    police = int(rng.integers(2, 5)) if missed == 0 else int(rng.integers(2))
    scene = Scene(congestion=missed != 1, accident=missed != 2, police_cars=police)
    return replace(scene, groups=(_one_of(_SMALL[:3], rng),) if rng.random() < 0.2 else ()), "Bronx"


def _boats(missed: int, rng: np.random.Generator) -> tuple[Scene, str]:
    guards = int(rng.integers(0, 3))
    tours = 2 * guards - int(rng.integers(0, 1 + guards)) if missed in (0, 1) else 2 * guards + int(rng.integers(1, 4))
    return Scene(tour_boats=tours, coast_guard_boats=guards, alone=int(rng.integers(3))), "Statue of Liberty"


def _quiet(missed: int, rng: np.random.Generator) -> tuple[Scene, str]:
    scene = Scene(alone=int(rng.integers(4)), police_cars=int(rng.integers(3)))
    return scene, AREAS[int(rng.integers(len(AREAS)))]


def _one_of(sizes: Sequence[int], rng: np.random.Generator) -> int:
    return sizes[int(rng.integers(len(sizes)))]


def _row(number: int, sight: Sight, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "camera": f"uav-{int(rng.integers(1, 13)):02d}",
        "taken": _FIRST + timedelta(seconds=20 * number),
        "longitude": sight.location.longitude,
        "latitude": sight.location.latitude,
        "altitude": round(float(rng.uniform(60, 300)), 1),
        "speed": round(float(rng.uniform(0, 25)), 1),
        "image": draw(sight.scene, rng),
        "report": sight.report.text,
        "sighted": list(sight.report.sighted) or None,
    }


def _truth(sights: Sequence[Sight], listed: Sequence[Watch]) -> pa.Table:
    pairs = [(row, watch.id) for row, sight in enumerate(sights) for watch in listed if watch.holds(sight)]
    return pa.table(
        {
            "event": pa.array([row for row, _ in pairs], pa.int64()),
            "subscription": pa.array([id for _, id in pairs], pa.string()),
        }
    )
