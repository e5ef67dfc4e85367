"""A batch of texts, cut into shapes and literals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language import kernels
from tamis.language.few import mark
from tamis.language.templates import Span

Rows = npt.NDArray[np.int64]


class Cutting:
    """Texts grouped by shape, over Arrow's buffers.

    `odd` are the rows that have to be parsed one by one, among them those with more than `longest` bytes. All other
    rows are in exactly one of the `shapes`, ascending.
    """

    def __init__(self, texts: pa.StringArray, longest: int) -> None:
        count = len(texts)
        buffers = texts.buffers()
        self._offsets = np.frombuffer(buffers[1], np.int32)[texts.offset : texts.offset + count + 1]
        self._data = np.frombuffer(buffers[2] or b"", np.uint8)
        self._owners = np.empty(count + 1, np.int64)
        hashes = np.empty(count, np.uint64)
        self._spans = kernels.cut(self._data, self._offsets, self._owners, hashes)
        hashes[np.diff(self._offsets) > longest] = 0
        groups, firsts = np.empty(count, np.int64), np.empty(count, np.int64)
        parts = (self._data, self._offsets, self._spans, self._owners)
        shapes = kernels.group(*parts, hashes, groups, firsts)
        rows, bounds = np.empty(count, np.int64), np.zeros(shapes + 1, np.int64)
        kernels.sort_by_group(groups, shapes, rows, bounds)
        self.odd: Rows = np.flatnonzero(groups < 0)
        self.shapes: list[Rows] = [rows[bounds[g] : bounds[g + 1]] for g in range(shapes)]

    def example(self, row: int, text: str) -> tuple[str, list[Span]]:
        """A row's shape, and where its literals stand in its text."""
        start, end = int(self._offsets[row]), int(self._offsets[row + 1])
        data = self._data[start:end].tobytes()
        ascii_only = len(data) == len(text)
        pieces: list[bytes] = []
        spans: list[Span] = []
        at = 0
        for literal_start, literal_end, kind in (self._spans[self._owners[row] : self._owners[row + 1]]).tolist():
            first, last = literal_start - start, literal_end - start
            pieces += (data[at:first], mark(kind).encode())
            at = last
            if not ascii_only:
                first = len(data[:first].decode("utf-8"))
                last = first + len(data[literal_start - start : at].decode("utf-8"))
            spans.append((first, last, kind))
        pieces.append(data[at:])
        return b"".join(pieces).decode("utf-8"), spans

    def literals(self, rows: Rows, number: int) -> Rows:
        """For each row the span of its literal of that number."""
        return self._owners[rows] + number

    def integers(self, literals: Rows) -> tuple[Rows, npt.NDArray[np.bool_]]:
        """The integers written in literals, and whether each fits into 64 bits."""
        values, fits = np.empty(len(literals), np.int64), np.empty(len(literals), np.bool_)
        kernels.read_integers(self._data, self._spans, literals, values, fits)
        return values, fits

    def texts(self, literals: Rows) -> pa.StringArray:
        """The literals as written, strings without their quotes."""
        ends = np.empty(len(literals) + 1, np.int32)
        sizes = self._spans[literals, 1] - self._spans[literals, 0]
        out = np.empty(int(sizes.sum()), np.uint8)
        size = kernels.copy_texts(self._data, self._spans, literals, ends, out)
        return pa.StringArray.from_buffers(len(literals), pa.py_buffer(ends), pa.py_buffer(out[:size]))


def as_strings(texts: Sequence[str]) -> pa.StringArray | pa.ChunkedArray | None:
    """The texts as Arrow strings; None if some are no text at all."""
    try:
        return pa.array(texts, pa.string())
    except (pa.ArrowException, UnicodeError, TypeError):
        return None


def is_proper(text: object) -> bool:
    """Whether Arrow can hold it among strings: a string of whole characters, or None."""
    if not isinstance(text, str):
        return text is None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
