"""A picture of the workload `city_watch`, for docs/operators-library.md: `python docs/figures/city_watch.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tamis.workloads.city_watch.scenes import Scene, draw

PICTURE = Path(__file__).parents[1] / "images" / "city_watch.png"
SCENE = Scene(groups=(14,), congestion=True, accident=True, police_cars=1, tour_boats=3, coast_guard_boats=1)


def main() -> None:
    PICTURE.write_bytes(draw(SCENE, np.random.default_rng(2)))


if __name__ == "__main__":
    main()
