"""The ids of a level's subscriptions, by number and back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.matching.columnar.encoding.dictionary import power_of_two
from tamis.matching.columnar.encoding.kernels import fill_table, find_string

Arrays = dict[str, npt.NDArray[Any]]


class Names:
    """UTF-8 ids in flat arrays, with a hash table of their numbers."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._offsets, self._data, self._table = arrays["offsets"], arrays["data"], arrays["table"]

    @classmethod
    def build(cls, ids: pa.Array) -> Names:
        wide = ids.cast(pa.large_binary())
        offsets = np.frombuffer(wide.buffers()[1], np.int64)[wide.offset : wide.offset + len(wide) + 1]
        data = np.frombuffer(wide.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]].copy()
        offsets = offsets - offsets[0]
        table = np.full(power_of_two(2 * len(wide)) if len(wide) else 0, -1, np.int32)
        fill_table(table, offsets, data)
        return cls({"offsets": offsets, "data": data, "table": table})

    def arrays(self) -> Arrays:
        return {"offsets": self._offsets, "data": self._data, "table": self._table}

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def find(self, id: str) -> int | None:
        raw = np.frombuffer(bytearray(id.encode()), np.uint8)
        number = find_string(self._table, self._offsets, self._data, raw, 0, len(raw))
        return None if number < 0 else int(number)

    @cached_property
    def ids(self) -> pa.Array:
        """As Arrow strings, in the narrower form where they fit."""
        buffers = [None, pa.py_buffer(self._offsets), pa.py_buffer(self._data)]
        wide = pa.Array.from_buffers(pa.large_string(), len(self), buffers)
        return wide.cast(pa.string()) if len(self._data) < 2**31 else wide
