"""Pictures drawn with NumPy: flat colours, smooth edges, written as PNG."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Colour = tuple[int, int, int]


class Shape:
    """A drawing of its own size: for every pixel, how much of it is covered, 0 to 1."""

    def __init__(self, width: int, height: int) -> None:
        self._y, self._x = np.mgrid[0:height, 0:width] + 0.5
        self._distance = np.full((height, width), np.inf)

    @property
    def cover(self) -> Reals:
        return np.asarray(np.clip(0.5 - self._distance, 0, 1))

    def disc(self, x: float, y: float, radius: float) -> Shape:
        return self._add(np.hypot(self._x - x, self._y - y) - radius)

    def limb(self, x: float, y: float, to_x: float, to_y: float, radius: float) -> Shape:
        """A line with round ends."""
        along_x, along_y = to_x - x, to_y - y
        squared = along_x**2 + along_y**2
        part = np.clip(((self._x - x) * along_x + (self._y - y) * along_y) / squared, 0, 1)
        return self._add(np.hypot(self._x - x - part * along_x, self._y - y - part * along_y) - radius)

    def box(self, x: float, y: float, length: float, width: float, degrees: float = 0.0, corner: float = 0.0) -> Shape:
        """A rectangle around its middle, with round corners."""
        way = np.radians(degrees)
        along = (self._x - x) * np.cos(way) + (self._y - y) * np.sin(way)
        aside = (self._y - y) * np.cos(way) - (self._x - x) * np.sin(way)
        outside_x = np.abs(along) - length / 2 + corner
        outside_y = np.abs(aside) - width / 2 + corner
        outside = np.hypot(np.maximum(outside_x, 0), np.maximum(outside_y, 0))
        return self._add(outside + np.minimum(np.maximum(outside_x, outside_y), 0) - corner)

    def _add(self, distance: Reals) -> Shape:
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

    def paint(self, cover: Reals, left: int, top: int, colour: Colour) -> None:
        """Puts a shape down; what hangs over an edge is cut off."""
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
