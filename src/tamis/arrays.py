"""Type aliases of NumPy arrays by element type: `Int64s`, `Floats`, `Bools` and others."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Int8s: TypeAlias = npt.NDArray[np.int8]
Int32s: TypeAlias = npt.NDArray[np.int32]
Int64s: TypeAlias = npt.NDArray[np.int64]
UInt8s: TypeAlias = npt.NDArray[np.uint8]
UInt64s: TypeAlias = npt.NDArray[np.uint64]
Float32s: TypeAlias = npt.NDArray[np.float32]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
"""Arrays by name, as an index's parts are saved and opened."""
