"""The subscriptions as they were written, compressed in blocks: read one at a time, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Arrays = dict[str, npt.NDArray[Any]]
BLOCK = 4096
_CODEC = "zstd"


class Texts:
    """Text n is in block n // BLOCK, which is its texts' ends (int64) and then their bytes."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._starts, self._sizes, self._data = arrays["starts"], arrays["sizes"], arrays["data"]
        self._count = int(arrays["count"][0])

    @classmethod
    def build(cls, texts: pa.Array) -> Texts:
        """From Arrow strings."""
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
        """All of them, as large strings."""
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
