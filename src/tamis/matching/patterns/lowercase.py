"""`str.lower()` over a column, without a Python string for each value."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from tamis.matching.patterns.kernels import lower
from tamis.matching.patterns.texts import Texts, frozen

# Unicode puts scripts with cases into its first two planes.
_CASED_END = 0x20000
_FINAL_SIGMA = "Σ"


def lower_texts(texts: Texts) -> Texts:
    """Each row lower-cased exactly as `str.lower()` does. Rows may come to lie in another order.

    pyarrow's own utf8_lower differs: it knows a newer Unicode, no final sigma, and makes one code point of İ.
    """
    rows = len(texts.starts)
    size = int(np.maximum(texts.ends - texts.starts, 0).sum())
    # No code point grows by more than from two bytes to three.
    data = np.empty(size + size // 2, np.uint8)
    starts, ends, odd = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
    used, odds = lower(texts, lower_table(), data, starts, ends, odd)
    if odds:
        pieces = [data[:used]]
        for row in odd[:odds].tolist():
            lowered = texts.row(row).decode().lower().encode()
            pieces.append(np.frombuffer(lowered, np.uint8))
            starts[row], ends[row] = used, used + len(lowered)
            used += len(lowered)
        data = np.concatenate(pieces)
    return Texts(frozen(data), starts, ends)


@functools.cache
def lower_table() -> npt.NDArray[np.int32]:
    """The lower case of each code point; -1 where it depends on the neighbours or is more than one code point."""
    lowered = [chr(point).lower() for point in range(_CASED_END)]
    points = [ord(text) if len(text) == 1 else -1 for text in lowered]
    points[ord(_FINAL_SIGMA)] = -1
    return frozen(np.array(points, np.int32))
