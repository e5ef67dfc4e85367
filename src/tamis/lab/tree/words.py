"""Strings by number: a dictionary that grows, in which a string keeps its number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.compiled import bare_kernel
from tamis.matching.codes.dictionary import address, power_of_two, validity
from tamis.matching.codes.encoding_kernels import hash_at, is_present, same_bytes
from tamis.matching.codes.intrinsics import read_int32, read_int64
from tamis.matching.room import extended

Arrays = dict[str, npt.NDArray[Any]]
Int64s = npt.NDArray[np.int64]

UNKNOWN = -1


@bare_kernel
def number_words(
    texts: int, starts: int, wide: bool, valid: int, bit: int, data: int, offsets: Any, table: Any, numbers: Any
) -> None:
    """The numbers of the strings of an Arrow array, UNKNOWN where there is none; the dictionary stays as it is."""
    mask = len(table) - 1
    for row in range(len(numbers)):
        numbers[row] = UNKNOWN
        if not is_present(valid, bit + row):
            continue
        if wide:
            start, stop = read_int64(starts, row), read_int64(starts, row + 1)
        else:
            start, stop = np.int64(read_int32(starts, row)), np.int64(read_int32(starts, row + 1))
        numbers[row] = find_word(texts + start, stop - start, data, offsets, table, mask)


@bare_kernel
def find_word(text: int, size: int, data: int, offsets: Any, table: Any, mask: int) -> Any:
    slot = np.int64(hash_at(text, size, text)) & mask
    while table[slot] >= 0:
        start = offsets[table[slot]]
        if offsets[table[slot] + 1] - start == size and same_bytes(data + start, text, size):
            return np.int64(table[slot])
        slot = (slot + 1) & mask
    return np.int64(UNKNOWN)


@bare_kernel
def enter_words(data: int, offsets: Any, first: int, last: int, table: Any) -> None:
    """Enters the strings of these numbers into the table."""
    mask = len(table) - 1
    for number in range(first, last):
        start = offsets[number]
        slot = np.int64(hash_at(data + start, offsets[number + 1] - start, data + start)) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number


class Words:
    """UTF-8 strings one after the other in a buffer that doubles, and a hash table of their numbers.

    Nothing is ever taken out: a constant that no subscription uses any more keeps its number and its few bytes.
    Numbers are looked up by several threads at once; strings are added by one, while nobody looks.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        if arrays is None:
            arrays = {"data": np.zeros(64, np.uint8), "offsets": np.zeros(16, np.int64), "count": np.zeros(1, np.int64)}
        self._data, self._offsets, self._count = arrays["data"], arrays["offsets"], int(arrays["count"][0])
        self._table = np.full(power_of_two(2 * max(16, len(self._offsets))), -1, np.int32)
        enter_words(address(self._data), self._offsets, 0, self._count, self._table)

    def arrays(self) -> Arrays:
        offsets = self._offsets[: self._count + 1]
        return {"data": self._data[: offsets[-1]], "offsets": offsets, "count": np.array([self._count], np.int64)}

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return self._data.nbytes + self._offsets.nbytes + self._table.nbytes

    def numbers(self, texts: pa.Array) -> Int64s:
        """The numbers of strings or binaries; UNKNOWN for those that are not here, and for nulls."""
        found = np.empty(len(texts), np.int64)
        wide = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
        _, starts, data = texts.buffers()
        if len(texts):
            at = (starts.address if starts is not None else 0) + (8 if wide else 4) * texts.offset
            number_words(
                0 if data is None else data.address, at, wide, validity(texts), texts.offset, address(self._data),
                self._offsets, self._table, found,
            )  # fmt: skip
        return found

    def add(self, texts: pa.Array) -> Int64s:
        """The numbers of strings or binaries, none of them null; those not here yet get the next ones."""
        found = self.numbers(texts)
        missing = np.flatnonzero(found == UNKNOWN)
        if len(missing):
            new = texts.take(pa.array(missing)).cast(pa.large_binary()).unique()
            self._append(new)
            found[missing] = self.numbers(texts.take(pa.array(missing)))
        return found

    def words(self, numbers: Int64s) -> pa.Array:
        """The strings of these numbers, as large_binary."""
        buffers = [None, pa.py_buffer(self._offsets[: self._count + 1]), pa.py_buffer(self._data)]
        return pa.Array.from_buffers(pa.large_binary(), self._count, buffers).take(pa.array(numbers))

    def _append(self, new: pa.Array) -> None:
        offsets = np.frombuffer(new.buffers()[1], np.int64)[new.offset : new.offset + len(new) + 1]
        data = np.frombuffer(new.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
        count, end = self._count + len(new), int(self._offsets[self._count])
        self._offsets = extended(self._offsets, count + 1)
        self._data = extended(self._data, end + len(data) + 8)
        self._offsets[self._count : count + 1] = offsets - offsets[0] + end
        self._data[end : end + len(data)] = data
        first, self._count = self._count, count
        if 2 * count > len(self._table):
            self._table, first = np.full(power_of_two(4 * count), -1, np.int32), 0
        enter_words(address(self._data), self._offsets, first, count, self._table)
