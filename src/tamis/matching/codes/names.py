"""Ids and texts of a level's subscriptions: a hash table from id to number, and the texts compressed in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Arrays
from tamis.compiled import kernel
from tamis.matching.codes.dictionary import address, power_of_two
from tamis.matching.codes.encoding import hash_at, same_bytes

_NARROW = 2**31  # bytes of ids from which on their offsets need eight bytes


@kernel
def fill_names(table: Any, offsets: Any, data: int) -> None:
    """Enters the strings at `data + offsets[i]` into an open-addressing table of their numbers."""
    mask = len(table) - 1
    for i in range(len(offsets) - 1):
        slot = np.int64(hash_at(data + offsets[i], offsets[i + 1] - offsets[i], data)) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = i


@kernel
def find_name(table: Any, offsets: Any, data: int, text: int, size: int) -> int:
    """The number of the string of so many bytes at `text`, or -1."""
    mask = len(table) - 1
    slot = np.int64(hash_at(text, size, text)) & mask
    while table[slot] >= 0:
        start = offsets[table[slot]]
        if offsets[table[slot] + 1] - start == size and same_bytes(data + start, text, size):
            return int(table[slot])
        slot = (slot + 1) & mask
    return -1


class Names:
    """Ids as UTF-8 bytes, with a small hash table of their numbers: only changes look ids up."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._offsets, self._data, self._table = arrays["offsets"], arrays["data"], arrays["table"]

    @classmethod
    def build(cls, ids: pa.Array) -> Names:
        wide = ids.cast(pa.large_binary())
        offsets = np.frombuffer(wide.buffers()[1], np.int64)[wide.offset : wide.offset + len(wide) + 1]
        data = np.frombuffer(wide.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]].copy()
        offsets = (offsets - offsets[0]).astype(np.int32 if len(data) < _NARROW else np.int64)
        table = np.full(power_of_two(len(wide) + len(wide) // 3 + 1), -1, np.int32)
        fill_names(table, offsets, address(data))
        return cls({"offsets": offsets, "data": data, "table": table})

    def arrays(self) -> Arrays:
        return {"offsets": self._offsets, "data": self._data, "table": self._table}

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def find(self, id: str) -> int | None:
        """Number of an id; None if it is not in the level."""
        raw = np.frombuffer(id.encode("utf-8", "surrogatepass"), np.uint8)  # half a surrogate pair is no id of ours
        number = find_name(self._table, self._offsets, address(self._data), address(raw), len(raw))
        return None if number < 0 else int(number)

    @cached_property
    def ids(self) -> pa.Array:
        """The ids as Arrow strings, in the narrower form where they fit."""
        kind = pa.string() if self._offsets.dtype == np.int32 else pa.large_string()
        return pa.Array.from_buffers(kind, len(self), [None, pa.py_buffer(self._offsets), pa.py_buffer(self._data)])


# Filter texts as they were written, compressed in blocks: they are read one at a time, to be shown.

BLOCK = 4096
_CODEC = "zstd"


class CompressedTexts:
    """Filter texts, compressed in blocks so that one can be read at a time.

    Text n is in block n // BLOCK, which is its texts' ends (int64) and then their bytes.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._starts, self._sizes, self._data = arrays["starts"], arrays["sizes"], arrays["data"]
        self._count = int(arrays["count"][0])

    @classmethod
    def build(cls, texts: pa.Array) -> CompressedTexts:
        """Compresses the texts of an Arrow array of strings."""
        blocks, sizes = [], []
        for start in range(0, len(texts), BLOCK):
            block = texts.slice(start, BLOCK).cast(pa.large_binary())
            offsets = np.frombuffer(block.buffers()[1], np.int64)[block.offset : block.offset + len(block) + 1]
            ends = (offsets[1:] - offsets[0]).tobytes()
            raw = ends + bytes(memoryview(block.buffers()[2] or b"")[offsets[0] : offsets[-1]])
            blocks.append(np.frombuffer(pa.compress(raw, _CODEC, asbytes=True), np.uint8))
            sizes.append(len(raw))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(b) for b in blocks], dtype=np.int64)])
        return cls(
            {
                "starts": starts.astype(np.int64),
                "sizes": np.array(sizes, np.int64),
                "data": np.concatenate([np.zeros(0, np.uint8), *blocks]),
                "count": np.array([len(texts)], np.int64),
            }
        )

    def arrays(self) -> Arrays:
        count = np.array([self._count], np.int64)
        return {"starts": self._starts, "sizes": self._sizes, "data": self._data, "count": count}

    def __getitem__(self, number: int) -> str:
        raw, ends = self._block(number // BLOCK)
        place = number % BLOCK
        return raw[ends[place - 1] if place else 0 : ends[place]].decode()

    def to_arrow(self) -> pa.Array:
        """All texts, as large strings."""
        arrays = []
        for block in range(len(self._sizes)):
            raw, ends = self._block(block)
            offsets = np.concatenate([np.zeros(1, np.int64), ends])
            arrays.append(
                pa.Array.from_buffers(pa.large_string(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(raw)])
            )
        return pa.chunked_array(arrays, pa.large_string()).combine_chunks()

    def _block(self, block: int) -> tuple[bytes, npt.NDArray[np.int64]]:
        packed = self._data[self._starts[block] : self._starts[block + 1]].tobytes()
        raw = pa.decompress(packed, int(self._sizes[block]), _CODEC, asbytes=True)
        count = min(BLOCK, self._count - block * BLOCK)
        return raw[8 * count :], np.frombuffer(raw, np.int64, count)
