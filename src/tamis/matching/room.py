"""Room in arrays that grow: at least twice as much each time, so that growing costs little a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def extended(array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """The array, or one at least twice as long with the same beginning, then zeros, so that it has so many rows."""
    if rows <= len(array):
        return array
    longer = np.zeros((max(rows, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Twice the array's rows, the new ones zeros."""
    return extended(array, len(array) + 1)
