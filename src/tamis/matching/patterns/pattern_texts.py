"""Pattern texts, kept flat and decoded one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from tamis.matching.patterns.texts import frozen


class PatternTexts(Sequence[str]):
    """Text n is the UTF-8 bytes `data[offsets[n]:offsets[n + 1]]`; or, for a part, text `numbers[n]` of the whole."""

    def __init__(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32] | None = None
    ) -> None:
        self.data = frozen(data)
        self.offsets = frozen(offsets)
        self._numbers = numbers

    @classmethod
    def of(cls, texts: Sequence[str]) -> PatternTexts:
        encoded = [text.encode() for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(bytearray(b"".join(encoded)), np.uint8), offsets)

    def part(self, numbers: npt.NDArray[np.int32]) -> PatternTexts:
        return PatternTexts(self.data, self.offsets, numbers)

    def __len__(self) -> int:
        return len(self.offsets) - 1 if self._numbers is None else len(self._numbers)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(f"no pattern {number}: there are {len(self)}")
        n = number if self._numbers is None else self._numbers[number]
        return self.data[self.offsets[n] : self.offsets[n + 1]].tobytes().decode()
