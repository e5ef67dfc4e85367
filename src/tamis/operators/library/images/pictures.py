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

MOST_PIXELS = 12_000_000
"""That people are looked for in, within seconds: as many as cameras of 4000 × 3000 have."""

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
# Frames of a JPEG that begin with its size: SOF0 to SOF15, but for the tables DHT, JPG and DAC among them.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# What may stand before a frame: all of it begins with its length. The picture itself (SOS, 0xDA) comes after.
_WITH_LENGTH = frozenset(range(0xC0, 0xD0)) | frozenset(range(0xDB, 0xF0)) | {0xFE}


def read_picture(image: bytes, most_pixels: int = MOST_PIXELS) -> Pixels:
    """The pixels of a PNG or JPEG; ValueError for anything else, or for one that unfolds to more than `most_pixels`."""
    width, height = _size(image)
    if width * height > most_pixels:
        raise ValueError(f"the image has {width} × {height} pixels, and at most {most_pixels:,} are taken")
    try:
        pixels: Any = cv2.imdecode(np.frombuffer(image, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        raise ValueError(f"the image is damaged: {error}") from error
    if pixels is None:
        raise ValueError("the image is damaged")
    return np.asarray(pixels, np.uint8)


def _size(image: bytes) -> tuple[int, int]:
    """Width and height as the header says, before anything is unfolded.

    Whatever OpenCV might read otherwise is refused, so that it never unfolds another size than this.
    """
    try:
        if image.startswith(_PNG):
            kind, width, height = struct.unpack_from(">4sII", image, 12)
            if kind != b"IHDR":
                raise ValueError("the image is damaged")
            return int(width), int(height)
        if image.startswith(_JPEG):
            return _jpeg_size(image)
    except (struct.error, IndexError) as error:
        raise ValueError("the image is cut off") from error
    raise ValueError("the image is neither PNG nor JPEG")


def _jpeg_size(image: bytes) -> tuple[int, int]:
    at = 2
    while True:
        start = at
        while image[at] == 0xFF:
            at += 1
        marker, length = image[at], struct.unpack_from(">H", image, at + 1)[0]
        if at == start or marker not in _WITH_LENGTH:
            raise ValueError("the image is damaged")
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", image, at + 4)
            return int(width), int(height)
        at += 1 + int(length)
