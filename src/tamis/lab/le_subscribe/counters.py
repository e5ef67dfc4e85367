"""Counters, a byte each, read eight to a word."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.lab.le_subscribe.counting_kernels import BYTES

UInt64s = npt.NDArray[np.uint64]


class Counters(NamedTuple):
    """Counter i is that of conjunction `rows[i]`, and full at byte i of `needs`; the last word is padded."""

    needs: UInt64s
    rows: npt.NDArray[np.int32]


def counters_of(needs: npt.NDArray[np.uint8], rows: npt.NDArray[np.int32]) -> Counters:
    padded = np.full(-(-len(needs) // BYTES) * BYTES, 255, np.uint8)  # more than is ever counted
    padded[: len(needs)] = needs
    return Counters(padded.view(np.uint64), rows)


def zeroed(counters: Counters) -> tuple[npt.NDArray[np.uint8], UInt64s]:
    """Counters at nothing, as bytes and as words."""
    words = np.zeros(len(counters.needs), np.uint64)
    return words.view(np.uint8), words
