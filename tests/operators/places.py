"""A small city seen from the air: P0's scenario with operators that need no camera."""

from __future__ import annotations

from typing import Any

import tamis
from tamis.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "attributes": {"lat": "float", "lon": "float", "image": "binary", "capacity": "integer", "tags": "string"},
        "event_types": {
            "shot": {
                "lat": "mandatory",
                "lon": "mandatory",
                "image": "optional",
                "capacity": "optional",
                "tags": ["optional", "multiple"],
            }
        },
    }
)
PLACES = {"Bronx": (40.8, 40.9), "Queens": (40.6, 40.8)}


def shot(lat: float, image: str = "", **more: Any) -> dict[str, Any]:
    """An event; the picture is a text in which each letter is somebody or something."""
    return {"lat": lat, "lon": -73.9, **({"image": image.encode()} if image else {}), **more}


@tamis.operator(cost=1.0)
def loc_in(lat: float, place: str) -> bool:
    """Whether the camera is over a place."""
    low, high = PLACES[place]
    return low <= lat < high


@tamis.operator(cost=40.0)
def seen(image: bytes, what: str, number: int = tamis.Var) -> Any:
    """How many of something are in the picture."""
    count = image.count(what.encode())
    return [count] if number is tamis.Var else count >= number
