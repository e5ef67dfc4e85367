"""Camera pictures of the city workload, drawn with NumPy as PNG: squares with people, roads with cars, water with
boats."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tamis.arrays import Floats

Colour = tuple[int, int, int]


class Shape:
    """Antialiased shape of its own size: for every pixel the share of it that is covered, 0 to 1."""

    def __init__(self, width: int, height: int) -> None:
        self._y, self._x = np.mgrid[0:height, 0:width] + 0.5
        self._distance = np.full((height, width), np.inf)

    @property
    def cover(self) -> Floats:
        return np.asarray(np.clip(0.5 - self._distance, 0, 1))

    def disc(self, x: float, y: float, radius: float) -> Shape:
        return self._add(np.hypot(self._x - x, self._y - y) - radius)

    def limb(self, x: float, y: float, to_x: float, to_y: float, radius: float) -> Shape:
        """Line with round ends."""
        along_x, along_y = to_x - x, to_y - y
        squared = along_x**2 + along_y**2
        part = np.clip(((self._x - x) * along_x + (self._y - y) * along_y) / squared, 0, 1)
        return self._add(np.hypot(self._x - x - part * along_x, self._y - y - part * along_y) - radius)

    def box(self, x: float, y: float, length: float, width: float, degrees: float = 0.0, corner: float = 0.0) -> Shape:
        """Rectangle around its middle, with round corners."""
        way = np.radians(degrees)
        along = (self._x - x) * np.cos(way) + (self._y - y) * np.sin(way)
        aside = (self._y - y) * np.cos(way) - (self._x - x) * np.sin(way)
        outside_x = np.abs(along) - length / 2 + corner
        outside_y = np.abs(aside) - width / 2 + corner
        outside = np.hypot(np.maximum(outside_x, 0), np.maximum(outside_y, 0))
        return self._add(outside + np.minimum(np.maximum(outside_x, outside_y), 0) - corner)

    def _add(self, distance: Floats) -> Shape:
        self._distance = np.minimum(self._distance, distance)
        return self


class Canvas:
    """Pixels in red, green and blue, painted from back to front."""

    def __init__(self, width: int, height: int, colour: Colour) -> None:
        self._pixels = np.empty((height, width, 3), np.uint8)
        self._pixels[:] = colour

    @property
    def size(self) -> tuple[int, int]:
        height, width, _ = self._pixels.shape
        return width, height

    def strip(self, top: int, height: int, colour: Colour) -> None:
        self._pixels[top : top + height] = colour

    def paint(self, cover: Floats, left: int, top: int, colour: Colour) -> None:
        """Draws a shape; parts beyond an edge are cut off."""
        height, width = cover.shape
        x, y = max(0, -left), max(0, -top)
        under = self._pixels[top + y : top + height, left + x : left + width]
        over = cover[y : y + under.shape[0], x : x + under.shape[1], None]
        under[:] = np.round(under + over * (np.array(colour) - under))

    def png(self) -> bytes:
        width, height = self.size
        rows = np.empty((height, 1 + 3 * width), np.uint8)
        rows[:, 0] = 0
        rows[:, 1:] = self._pixels.reshape(height, 3 * width)
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# Scenes: a square with people, a road with cars, water with boats.

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
    """Contents of a picture.

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
    """Draws the scene as PNG: everything in it can be counted, nothing hides behind another."""
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
    """Columns and rows of an approximate square on the ground."""
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
    """Standing person, seen from the front: head, body, arms and legs."""
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
    """Places of cars, in random order: close to each other in a congestion, far apart and at most six if not."""
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
    """Police car: blue, with a white roof; the lights on it burn red."""
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
