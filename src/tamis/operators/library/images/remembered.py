"""What was found in pictures seen lately."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """A function of an encoded image that answers for the last images without looking again.

    Several operators ask the same of one image, and a batch asks each of them for all its images in turn: so answers
    are kept by the image's digest, and neither images nor pixels are. Threads share it; two that come with one new
    image at once both look.
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
