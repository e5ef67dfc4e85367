"""Draws docs/images/city_watch.png: what the operators see in a picture of `city_watch`.

python docs/figures/city_watch.py

Everything that was found is drawn around what it was found in: people in a window, vehicles in their outline.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from tamis.operators.library.images import PeopleDetector, VehicleDetector
from tamis.operators.library.images.pictures import read_picture
from tamis.workloads.city_pictures import Scene, draw

PICTURE = Path(__file__).parents[1] / "images" / "city_watch.png"
SCENE = Scene(groups=(14,), congestion=True, accident=True, police_cars=1, tour_boats=3, coast_guard_boats=1)

_WINDOW, _OUTLINE = (40, 150, 30), (255, 255, 255)


def seen(image: bytes) -> tuple[bytes, int, int]:
    """The picture, as PNG, with all that was found in it; and how many people and vehicles that were."""
    pixels = read_picture(image)
    people, vehicles = PeopleDetector().find(pixels), VehicleDetector().find(pixels)
    for left, top, width, height in people.tolist():
        cv2.rectangle(pixels, (left, top), (left + width, top + height), _WINDOW, 1)
    for vehicle in vehicles:
        middle, (length, width), degrees = vehicle.rectangle
        corners = cv2.boxPoints((middle, (length + 6, width + 6), degrees))
        cv2.polylines(pixels, [np.round(corners).astype(np.int32)], True, _OUTLINE, 1, cv2.LINE_AA)
    return cv2.imencode(".png", pixels, (cv2.IMWRITE_PNG_COMPRESSION, 9))[1].tobytes(), len(people), len(vehicles)


def main() -> None:
    picture, _, _ = seen(draw(SCENE, np.random.default_rng(2)))
    PICTURE.write_bytes(picture)


if __name__ == "__main__":
    main()
