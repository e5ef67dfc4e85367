"""Dictionaries of a level: the sorted constants of one attribute, numbers or strings, and the codes of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Arrays, Int64s
from tamis.matching.codes.encoding import (
    CONSTANTS,
    COUNT,
    DATA,
    DIRECT,
    FIELDS,
    FLOATS,
    FORM,
    INTEGERS,
    LARGE_STRINGS,
    LIMIT,
    ORDERED,
    SIZE,
    STRINGS,
    TABLE,
    TEXT,
    VALUES,
    fill_cells,
    fill_direct,
    fill_table,
)  # fmt: skip

_MOST_CELLS = 1 << 16
# Integers whose constants fill at least an eighth of their range are looked up in a table of the range.
_SPARSEST, _LARGEST_TABLE = 8, 1 << 22


def power_of_two(least: int) -> int:
    return 1 << max(0, (least - 1).bit_length())


def address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def validity(array: pa.Array) -> int:
    """Address of an Arrow array's validity bits; 0 where every row is valid."""
    buffer = array.buffers()[0]
    return 0 if buffer is None or array.null_count == 0 else int(buffer.address)


class Numbers:
    """Dictionary of sorted int64 or float64 constants.

    `table` is the code of every integer between the first and the last constant, where that is not much more than the
    constants; else a grid of cells that narrows the search to a step or two. `grid`: low end and scale, or zeros.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.constants, self._table = arrays["constants"], arrays["table"]
        self.grid = arrays["grid"]
        self._job = np.zeros(FIELDS, np.int64)
        direct = bool(arrays["direct"][0])
        self._job[FORM] = DIRECT if direct else FLOATS if self.constants.dtype == np.float64 else INTEGERS
        self._job[TABLE] = address(self._table)
        self._job[SIZE] = len(self._table) if direct else len(self._table) - 1
        self._job[CONSTANTS] = self.constants[0] if direct else address(self.constants)
        self._job[COUNT] = len(self.constants)

    @classmethod
    def build(cls, constants: npt.NDArray[Any]) -> Numbers:
        """Builds the dictionary from sorted distinct constants."""
        integers = constants.dtype == np.int64 and len(constants) > 0
        span = int(constants[-1]) - int(constants[0]) + 1 if integers else 0
        direct = integers and span <= min(_LARGEST_TABLE, max(_MOST_CELLS // 16, _SPARSEST * len(constants)))
        grid = np.zeros(2)
        if direct:
            table = np.empty(span, np.int32)
            fill_direct(constants, table)
        else:
            table = np.zeros(min(_MOST_CELLS, power_of_two(2 * len(constants) + 1)) + 1, np.int32)
            finite = constants[np.isfinite(constants)].astype(np.float64)
            if len(finite):
                half = float(finite[-1]) / 2 - float(finite[0]) / 2  # the whole span may be no double
                scale = (len(table) - 1) / half / 2 if half > 0 else 0.0
                grid[:] = finite[0], scale if np.isfinite(scale) else 0.0
            fill_cells(constants, grid[0], grid[1], table)
        return cls({"constants": constants, "table": table, "grid": grid, "direct": np.array([direct], np.int8)})

    def arrays(self) -> Arrays:
        direct = np.array([self._job[FORM] == DIRECT], np.int8)
        return {"constants": self.constants, "table": self._table, "grid": self.grid, "direct": direct}

    def __len__(self) -> int:
        return len(self.constants)

    def describe(self, values: pa.Array, job: Int64s) -> pa.Array:
        """Fills in a job for these values; returns the array whose buffers it points into."""
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int64())
        job[:] = self._job
        buffer = values.buffers()[1]
        job[VALUES] = (buffer.address if buffer is not None else 0) + 8 * values.offset
        return values


class Strings:
    """Dictionary of strings: UTF-8 bytes in rank order, with a hash table for exact lookup.

    `ordered`: some comparison goes by order, so the rank order is that of the bytes and values that are no constant are
    placed between constants. Enumerated and hierarchical domains give their own order and have no such values.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._offsets, self._data, self._slots = arrays["offsets"], arrays["data"], arrays["slots"]
        self.ordered = bool(arrays["ordered"][0])
        self.grid = np.zeros(2)
        self._job = np.zeros(FIELDS, np.int64)
        self._job[TABLE], self._job[SIZE] = address(self._slots), len(self._slots) // 2
        self._job[CONSTANTS], self._job[DATA] = address(self._offsets), address(self._data)
        self._job[COUNT], self._job[ORDERED] = len(self), self.ordered

    @classmethod
    def build(cls, constants: pa.Array, ordered: bool = False) -> Self:
        """Builds the dictionary from distinct strings or binaries in rank order."""
        wide = constants.cast(pa.large_binary())
        offsets = np.frombuffer(wide.buffers()[1], np.int64)[wide.offset : wide.offset + len(wide) + 1]
        data = np.frombuffer(wide.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]].copy()
        offsets = offsets - offsets[0]
        slots = np.full(2 * power_of_two(2 * len(wide)) if len(wide) else 0, -1, np.int64)
        fill_table(slots, offsets, address(data))
        return cls({"offsets": offsets, "data": data, "slots": slots, "ordered": np.array([ordered], np.int8)})

    def arrays(self) -> Arrays:
        ordered = np.array([self.ordered], np.int8)
        return {"offsets": self._offsets, "data": self._data, "slots": self._slots, "ordered": ordered}

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def constants(self) -> pa.Array:
        """The constants as large_binary, in rank order."""
        buffers = [None, pa.py_buffer(self._offsets), pa.py_buffer(self._data)]
        return pa.Array.from_buffers(pa.large_binary(), len(self), buffers)

    def describe(self, values: pa.Array, job: Int64s) -> pa.Array:
        """Fills in a job for these values; returns the array whose buffers it points into."""
        large = pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type)
        job[:] = self._job
        job[FORM] = LARGE_STRINGS if large else STRINGS
        _, starts, text = values.buffers()
        job[VALUES] = (starts.address if starts is not None else 0) + (8 if large else 4) * values.offset
        if text is not None:
            job[TEXT], job[LIMIT] = text.address, text.address + text.size
        return values


Dictionary = Numbers | Strings
