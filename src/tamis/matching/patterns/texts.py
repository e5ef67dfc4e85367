"""A column of strings as flat arrays of UTF-8 bytes, for the pattern kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Arrays

_NO_BYTES = np.zeros(0, np.uint8)
_NO_BYTES.flags.writeable = False


class Texts(NamedTuple):
    """Strings of a column: row r is the UTF-8 bytes `data[starts[r]:ends[r]]`; a null row ends before it starts."""

    data: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: pa.Array) -> Texts:
        """Rows of a string or large_string array, sliced or not; only the offsets are copied."""
        _, offset_buffer, data_buffer = values.buffers()
        rows = len(values)
        if rows == 0 or data_buffer is None:
            offsets = np.zeros(rows + 1, np.int64)
        else:
            width = np.int32 if pa.types.is_string(values.type) else np.int64
            offsets = np.frombuffer(offset_buffer, width)[values.offset : values.offset + rows + 1].astype(np.int64)
        ends = offsets[1:]
        if values.null_count:
            ends = np.where(values.is_null().to_numpy(zero_copy_only=False), -1, ends)
        return cls(
            frozen(_NO_BYTES if data_buffer is None else np.frombuffer(data_buffer, np.uint8)), offsets[:-1], ends
        )

    def row(self, number: int) -> bytes:
        return self.data[self.starts[number] : self.ends[number]].tobytes()


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Read-only view. Kernels see built and memory-mapped arrays alike, so each is compiled once."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def under(prefix: str, arrays: Arrays) -> Arrays:
    """Arrays of a part, out of those of the whole."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def prefixed(prefix: str, arrays: Arrays) -> Arrays:
    """Arrays of a part, as they are named in the whole."""
    return {prefix + name: array for name, array in arrays.items()}
