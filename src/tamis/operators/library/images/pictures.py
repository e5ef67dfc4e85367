"""Decoding of untrusted pictures (PNG, JPEG) with bounds on their size, and a cache of what was found in them."""

from __future__ import annotations

import hashlib
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from tamis.arrays import UInt8s
from tamis.operators.library.offering import extra

with extra("images"):
    import cv2


MOST_PIXELS = 12_000_000
"""That people are looked for in, within seconds: as many as cameras of 4000 × 3000 have."""

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
# Frames of a JPEG that begin with its size: SOF0 to SOF15, but for the tables DHT, JPG and DAC among them.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Segments that may stand before a frame: each begins with its length. The picture itself (SOS, 0xDA) comes after.
_WITH_LENGTH = frozenset(range(0xC0, 0xD0)) | frozenset(range(0xDB, 0xF0)) | {0xFE}


def read_picture(image: bytes, most_pixels: int = MOST_PIXELS) -> UInt8s:
    """Pixels of a PNG or JPEG; ValueError for anything else, or for one that unfolds to more than `most_pixels`."""
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
    """Width and height by the header, before anything is decoded.

    All that OpenCV might read otherwise is refused, so that it never decodes another size than this.
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


# Cache of answers about recent pictures.

T = TypeVar("T")


class Remembered(Generic[T]):
    """Cached function of an encoded image: the last images are answered without decoding.

    Several operators ask the same of one image, and a batch asks each of them for all its images in turn: so answers
    are kept by the image's digest, and neither images nor pixels are. Threads share it; two that come with one new
    image at once both compute.
    """

    def __init__(self, look: Callable[[bytes], T], most: int) -> None:
        self._look = look
        self._most = most
        self._answers: OrderedDict[bytes, T] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, image: bytes) -> T:
        key = hashlib.blake2b(image, digest_size=16).digest()
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        answer = self._look(image)
        with self._lock:
            self._answers[key] = answer
            if len(self._answers) > self._most:
                self._answers.popitem(last=False)
        return answer

    def __len__(self) -> int:
        return len(self._answers)
