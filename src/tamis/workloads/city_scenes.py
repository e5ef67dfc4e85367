"""What a camera sees: a square with people, a road with cars, water with boats."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tamis.workloads.city_pictures import Canvas, Colour, Shape

Chased = Literal["car", "taxi"]

_PAVEMENT, _ROAD, _LINE, _WATER = (188, 186, 180), (70, 70, 74), (150, 150, 150), (92, 130, 150)
_RED, _GREEN, _PURPLE, _YELLOW, _BLUE = (200, 30, 40), (30, 150, 60), (150, 40, 160), (240, 200, 20), (30, 60, 200)
_ORANGE, _WHITE, _GLASS, _LIGHT = (235, 110, 20), (250, 250, 250), (40, 44, 50), (255, 20, 20)
_CARS: tuple[Colour, ...] = (_RED, _GREEN, _PURPLE, _YELLOW)

_PERSON = (64, 112)
_LANE, _LANES, _CAR = 48, 3, (56, 26)
_BERTH, _BOAT = (120, 64), (70, 26)
_APART = 200  # so far apart, people are not together
_MARGIN = 48
_NARROWEST = 640


@dataclass(frozen=True)
class Scene:
    """The facts of a picture.

    `groups`: how many people stand together, group by group; `alone`: how many stand by themselves. `police_cars`
    counts the one that chases (`chased` says what), or that has its lights on with nobody ahead of it (`alarm`).
    """

    groups: tuple[int, ...] = ()
    alone: int = 0
    congestion: bool = False
    accident: bool = False
    chased: Chased | None = None
    alarm: bool = False
    police_cars: int = 0
    tour_boats: int = 0
    coast_guard_boats: int = 0

    @property
    def people(self) -> int:
        return sum(self.groups) + self.alone


def draw(scene: Scene, rng: np.random.Generator) -> bytes:
    """The scene as PNG: everything in it is there to be counted, nothing hides behind another."""
    grids = [_grid(size) for size in (*scene.groups, *[1] * scene.alone)]
    width = max(_NARROWEST, 2 * _MARGIN - _APART + sum(columns * _PERSON[0] + _APART for columns, _ in grids))
    square = 2 * _MARGIN + max([rows for _, rows in grids], default=1) * _PERSON[1]
    road = _LANES * _LANE
    boats = scene.tour_boats + scene.coast_guard_boats
    berths = (width - _MARGIN) // _BERTH[0]
    water = math.ceil(boats / berths) * _BERTH[1]
    canvas = Canvas(width, square + road + water, _PAVEMENT)
    canvas.strip(square, road, _ROAD)
    canvas.strip(square + road, water, _WATER)
    _people(canvas, scene, grids, rng)
    _cars(canvas, scene, square, rng)
    _boats(canvas, scene, square + road, berths, rng)
    return canvas.png()


def _grid(people: int) -> tuple[int, int]:
    """Columns and rows that are about a square on the ground."""
    columns = math.ceil(math.sqrt(people * _PERSON[1] / _PERSON[0]))
    return columns, math.ceil(people / columns)


def _people(canvas: Canvas, scene: Scene, grids: list[tuple[int, int]], rng: np.random.Generator) -> None:
    left = _MARGIN
    for size, (columns, _) in zip((*scene.groups, *[1] * scene.alone), grids, strict=True):
        for number in range(size):
            row, column = divmod(number, columns)
            jitter = rng.integers(-3, 4, 2).tolist()
            x = left + column * _PERSON[0] + jitter[0]
            y = _MARGIN + row * _PERSON[1] + jitter[1]
            shade = int(rng.integers(20, 90))
            canvas.paint(_person(rng), x, y, (shade, shade, shade))
        left += columns * _PERSON[0] + _APART


def _person(rng: np.random.Generator) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Somebody upright, seen from the front: head, body, arms and legs."""
    stance, reach = rng.uniform(4, 12), rng.uniform(3, 7)
    middle, top = _PERSON[0] / 2, 8.0
    figure = Shape(*_PERSON).disc(middle, top + 7, 6.5).limb(middle, top + 24, middle, top + 46, 10)
    for side in (-1, 1):
        figure.limb(middle + 9 * side, top + 20, middle + (9 + reach) * side, top + 50, 3.5)
        figure.limb(middle + 4 * side, top + 50, middle + stance * side, top + 92, 4.5)
    return figure.cover


def _cars(canvas: Canvas, scene: Scene, top: int, rng: np.random.Generator) -> None:
    width, _ = canvas.size
    for lane in range(1, _LANES):
        for x in range(0, width, 64):
            canvas.paint(Shape(24, 3).box(12, 1.5, 24, 3).cover, x, top + lane * _LANE - 1, _LINE)
    slots = _slots(scene, width, rng)
    police = scene.police_cars
    if scene.chased or scene.alarm:
        # The lane in the middle is theirs.
        y = top + _LANE + _LANE // 2
        _police(canvas, width // 2, y, lights=True)
        police -= 1
        if scene.chased:
            colour = _YELLOW if scene.chased == "taxi" else _CARS[int(rng.integers(3))]
            _car(canvas, width // 2 + 2 * _CAR[0], y, colour)
    if scene.accident:
        y = top + _LANE + _LANE // 2
        one, other = rng.choice(4, 2, replace=False).tolist()
        _car(canvas, width // 2 - 20, y, _CARS[one])
        _car(canvas, width // 2 + 16, y, _CARS[other], degrees=float(rng.uniform(45, 60)))
    for x, lane in slots:
        y = top + lane * _LANE + _LANE // 2
        if police > 0:
            _police(canvas, x, y, lights=False)
            police -= 1
        elif scene.congestion or rng.random() < 0.4:
            _car(canvas, x, y, _CARS[int(rng.integers(4))])
    if police > 0:
        raise ValueError(f"there is no room for {scene.police_cars} police cars")


def _slots(scene: Scene, width: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Where cars may stand, in random order: close to each other in a congestion, far apart and at most six if not."""
    pitch = 72 if scene.congestion else 240
    taken = scene.chased or scene.alarm
    slots = [
        (x, lane)
        for lane in range(_LANES)
        for x in range(_CAR[0], width - _CAR[0], pitch)
        if not (lane == 1 and (taken or (scene.accident and abs(x - width // 2) < 2.5 * _CAR[0])))
    ]
    shuffled = [slots[number] for number in rng.permutation(len(slots)).tolist()]
    return iter(shuffled if scene.congestion else shuffled[:6])


def _car(canvas: Canvas, x: int, y: int, colour: Colour, degrees: float = 0.0) -> None:
    side = 80
    for length, width, paint in ((*_CAR, colour), (_CAR[0] / 3, _CAR[1] - 8, _GLASS)):
        shape = Shape(side, side).box(side / 2, side / 2, length, width, degrees, corner=4)
        canvas.paint(shape.cover, x - side // 2, y - side // 2, paint)


def _police(canvas: Canvas, x: int, y: int, lights: bool) -> None:
    """Blue, with a white roof; the lights on it burn red."""
    side = 80
    paints = [(*_CAR, _BLUE), (16.0, 12.0, _WHITE), *([(10.0, 8.0, _LIGHT)] if lights else [])]
    for length, width, paint in paints:
        shape = Shape(side, side).box(side / 2, side / 2, length, width, corner=2)
        canvas.paint(shape.cover, x - side // 2, y - side // 2, paint)


def _boats(canvas: Canvas, scene: Scene, top: int, berths: int, rng: np.random.Generator) -> None:
    kinds = [_ORANGE] * scene.tour_boats + [_WHITE] * scene.coast_guard_boats
    for number, kind in enumerate(rng.permutation(len(kinds)).tolist()):
        row, berth = divmod(number, berths)
        x, y = _MARGIN // 2 + berth * _BERTH[0], top + row * _BERTH[1]
        middle = _BERTH[1] / 2
        hull = Shape(*_BERTH).box(52, middle, _BOAT[0] - 20, _BOAT[1], corner=6)
        hull.limb(70, middle, 84, middle, 6)
        canvas.paint(hull.cover, x, y, kinds[kind])
        canvas.paint(Shape(*_BERTH).box(46, middle, 20, 12).cover, x, y, _GLASS)
