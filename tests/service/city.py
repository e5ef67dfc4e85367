"""Cameras over a city: a schema with pictures, and operators that look at them, for services to be told by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import tamis
from tamis.schema.values import write_base64

CITY: dict[str, Any] = {
    "attributes": {"lat": "float", "lon": "float", "image": "binary", "price": "float", "capacity": "integer"},
    "event_types": {
        "shot": {
            "lat": "mandatory",
            "lon": "mandatory",
            "image": "optional",
            "price": "optional",
            "capacity": "optional",
        }
    },
}
BOXES = {"Bronx": (40.78, 40.92, -73.94, -73.76), "Queens": (40.54, 40.81, -73.97, -73.70)}
OPERATORS = ("tests.service.city:loc_in", "tests.service.city:mob_pattern", "tests.service.city:broken")


@tamis.operator(cost=1.0, selectivity=0.3)
def loc_in(lat: float, lon: float, place: str) -> bool:
    """Whether the camera is over a place."""
    south, north, west, east = BOXES[place]
    return south <= lat < north and west <= lon < east


@tamis.operator(cost=40.0, version="2")
def mob_pattern(image: bytes, people: int = tamis.Var) -> Any:
    """How many people there are in the picture: how often the letter p."""
    count = image.count(b"p")
    return [count] if people is tamis.Var else count >= people


@tamis.operator
def broken(lat: float, words: str = "nothing") -> bool:
    """Fails, and says too much."""
    raise ValueError(f"/secret/folder has {words}")


@tamis.operator
def odd(lat: float, far: float = tamis.Var, name: str = tamis.Var, at: datetime = tamis.Var) -> Any:
    """Binds what JSON has no words for."""
    return [(float("inf"), "half\ud800", datetime(2026, 5, 1, tzinfo=UTC))]


ALL = [loc_in, mob_pattern, broken]


def shot(people: int, place: str = "Bronx", **more: Any) -> dict[str, Any]:
    """An event over a place, with so many people in the picture."""
    south, _, west, _ = BOXES[place]
    return {"lat": south + 0.01, "lon": west + 0.01, "image": write_base64(b"p" * people + b"."), **more}
