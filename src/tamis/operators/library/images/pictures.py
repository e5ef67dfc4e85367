"""Encoded images from events, read with care: they come from outside."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.operators.library.extras import extra

with extra("images"):
    import cv2

Pixels = npt.NDArray[np.uint8]
"""Rows, columns, and blue, green, red."""

MOST_PIXELS = 40_000_000

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
# Frames of a JPEG that begin with its size: SOF0 to SOF15, but for the tables DHT, JPG and DAC among them.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def read_picture(image: bytes) -> Pixels:
    """The pixels of a PNG or JPEG; ValueError for anything else, or for one that unfolds to more than MOST_PIXELS."""
    width, height = _size(image)
    if width * height > MOST_PIXELS:
        raise ValueError(f"the image has {width} × {height} pixels, and at most {MOST_PIXELS:,} are taken")
    pixels: Any = cv2.imdecode(np.frombuffer(image, np.uint8), cv2.IMREAD_COLOR)
    if pixels is None:
        raise ValueError("the image is damaged")
    return np.asarray(pixels, np.uint8)


def _size(image: bytes) -> tuple[int, int]:
    """Width and height as the header says, before anything is unfolded."""
    try:
        if image.startswith(_PNG):
            width, height = struct.unpack_from(">II", image, 16)
            return int(width), int(height)
        if image.startswith(_JPEG):
            return _jpeg_size(image)
    except (struct.error, IndexError) as error:
        raise ValueError("the image is cut off") from error
    raise ValueError("the image is neither PNG nor JPEG")


def _jpeg_size(image: bytes) -> tuple[int, int]:
    at = 2
    while True:
        while image[at] == 0xFF:
            at += 1
        marker, length = image[at], struct.unpack_from(">H", image, at + 1)[0]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", image, at + 4)
            return int(width), int(height)
        at += 1 + int(length)
