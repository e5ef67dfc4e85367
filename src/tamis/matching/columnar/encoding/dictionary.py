"""The constants of one attribute, sorted, and the codes they give to values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import EventError, Violation
from tamis.matching.columnar.encoding.kernels import encode_numbers, encode_strings, fill_cells, fill_table

Arrays = dict[str, npt.NDArray[Any]]
_MOST_CELLS = 1 << 16
_NO_BYTES = np.frombuffer(b"", np.uint8)  # read-only, as the views of Arrow buffers are: one compiled kernel for both


def power_of_two(least: int) -> int:
    return 1 << max(0, (least - 1).bit_length())


def bitmap(array: pa.Array) -> npt.NDArray[np.uint8]:
    """An Arrow array's validity bits; empty where every row is valid."""
    buffer = array.buffers()[0]
    return _NO_BYTES if buffer is None or array.null_count == 0 else np.frombuffer(buffer, np.uint8)


class Numbers:
    """Sorted int64 or float64 constants, with a grid of cells that narrows the search to a step or two."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]], attribute: str) -> None:
        self._attribute = attribute
        self.constants = arrays["constants"]
        self._cells = arrays["cells"]
        self._low, self._scale = (float(x) for x in arrays["grid"])

    @classmethod
    def build(cls, constants: npt.NDArray[Any], attribute: str) -> Numbers:
        """From sorted distinct constants."""
        cells = np.zeros(min(_MOST_CELLS, power_of_two(2 * len(constants) + 1)) + 1, np.int32)
        finite = constants[np.isfinite(constants)].astype(np.float64)
        low, span = (float(finite[0]), float(finite[-1]) / 2 - float(finite[0]) / 2) if len(finite) else (0.0, 0.0)
        scale = (len(cells) - 1) / span / 2 if span > 0 else 0.0
        grid = np.array([low, scale if np.isfinite(scale) else 0.0])
        fill_cells(constants, grid[0], grid[1], cells)
        return cls({"constants": constants, "cells": cells, "grid": grid}, attribute)

    def arrays(self) -> Arrays:
        return {"constants": self.constants, "cells": self._cells, "grid": np.array([self._low, self._scale])}

    def __len__(self) -> int:
        return len(self.constants)

    def encode(self, values: pa.Array, out: npt.NDArray[np.int32], column: int) -> None:
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int64())
        kind = self.constants.dtype
        raw = np.frombuffer(values.buffers()[1] or b"", kind)[values.offset : values.offset + len(values)]
        nan = encode_numbers(
            bitmap(values), values.offset, raw, self.constants, self._low, self._scale, self._cells, out, column
        )
        if nan >= 0:
            message = "NaN is no number: leave the attribute out instead"
            raise EventError([Violation(nan, self._attribute, "domain", float("nan"), message)])


class Strings:
    """Constants as UTF-8 bytes in rank order, with a hash table for the exact ones.

    `ordered`: some comparison goes by order, so the rank order is that of the bytes and values that are no constant
    are placed between constants. Enumerated and hierarchical domains give their own order and have no such values.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._offsets, self._data, self._table = arrays["offsets"], arrays["data"], arrays["table"]
        self._ordered = bool(arrays["ordered"][0])

    @classmethod
    def build(cls, constants: pa.Array, ordered: bool) -> Strings:
        """From distinct constants (large_binary) in rank order."""
        offsets = np.frombuffer(constants.buffers()[1], np.int64)[constants.offset : constants.offset + len(constants) + 1]
        data = np.frombuffer(constants.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
        offsets = offsets - offsets[0]
        table = np.full(power_of_two(2 * len(constants)) if len(constants) else 0, -1, np.int32)
        fill_table(table, offsets, data)
        return cls({"offsets": offsets, "data": data, "table": table, "ordered": np.array([ordered], np.int8)})

    def arrays(self) -> Arrays:
        ordered = np.array([self._ordered], np.int8)
        return {"offsets": self._offsets, "data": self._data, "table": self._table, "ordered": ordered}

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def ordered(self) -> bool:
        return self._ordered

    @property
    def constants(self) -> pa.Array:
        """As large_binary, in rank order."""
        buffers = [None, pa.py_buffer(np.ascontiguousarray(self._offsets)), pa.py_buffer(np.ascontiguousarray(self._data))]
        return pa.Array.from_buffers(pa.large_binary(), len(self), buffers)

    def encode(self, values: pa.Array, out: npt.NDArray[np.int32], column: int) -> None:
        width = np.int64 if pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type) else np.int32
        _, starts, text = values.buffers()
        bounds = np.frombuffer(starts, width)[values.offset : values.offset + len(values) + 1] if starts else np.frombuffer(bytes(8), width)[:1]
        encode_strings(
            bitmap(values), values.offset, bounds, np.frombuffer(text or b"", np.uint8), self._table, self._offsets,
            self._data, self._ordered, out, column,
        )  # fmt: skip


Dictionary = Numbers | Strings
