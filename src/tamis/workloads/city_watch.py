"""Cameras over a city, and those who watch (P0, §2.1): events that only expensive operators can tell apart.

Each event is drawn to be something, so what should match is known without asking the operators (`truth`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.schema import Schema
from tamis.workloads import city_reports as reports
from tamis.workloads.city_pictures import Scene, draw
from tamis.workloads.city_reports import AREAS, locate
from tamis.workloads.city_subscriptions import Sight, Watch, of_the_paper, watches
from tamis.workloads.workload import Workload

__all__ = ["CityWatch", "city_watch", "city_watch_schema"]

_FIRST = datetime(2024, 5, 1, 6, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class CityWatch(Workload):
    """A workload that knows its matches: `truth` has a row for each, event (row number) and subscription (id)."""

    truth: pa.Table


def city_watch_schema() -> Schema:
    """A snapshot from a camera: the image, where and when it was taken, and what its pilot wrote."""
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
    """P0's S1 to S5 and others of their form, and events of which about half were drawn to satisfy one of the five.

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
    """Sight at a place: one of the five of the paper, one of its conditions perhaps missed, or nothing much."""
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
