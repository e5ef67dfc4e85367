"""Texts in bulk: cut into chunks that Arrow holds, and the columns of literals of texts of one shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language.columns import Column, Fits, read_column
from tamis.language.cutting import Cutting, Rows, as_strings, is_proper
from tamis.language.limits import Limits
from tamis.language.templates import Reading

_LARGEST = 1 << 30
_FEW = 4  # from the fifth text on, compiled loops over arrays are faster


def read_columns(
    readings: Sequence[Reading], cutting: Cutting, rows: Rows, limits: Limits
) -> tuple[tuple[Column, ...], Fits]:
    """The columns of a shape's slots over some of its rows, and which rows all of them can be read for."""
    columns: list[Column] = []
    fits: Fits = None
    for number, reading in enumerate(readings):
        column, these = read_column(reading, cutting, cutting.literals(rows, number), limits)
        columns.append(column)
        fits = these if fits is None else fits if these is None else fits & these
    if fits is not None:
        columns = [kept(column, fits) for column in columns]
    return tuple(columns), fits


def kept(column: Column, mask: npt.NDArray[np.bool_]) -> Column:
    """The rows of a column that a mask keeps."""
    return column.filter(pa.array(mask)) if isinstance(column, pa.Array) else column[mask]


def chunks(texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> Iterator[pa.StringArray | Sequence[object]]:
    """The texts in order: few, or what Arrow cannot hold, as they are; many as Arrow strings below two gigabytes."""
    if len(texts) <= _FEW:
        yield texts.to_pylist() if isinstance(texts, pa.Array | pa.ChunkedArray) else texts
        return
    if not isinstance(texts, pa.Array | pa.ChunkedArray):
        strings = as_strings(texts)
        if strings is None:
            yield from _around_oddities(texts)
            return
        texts = strings
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        if pa.types.is_dictionary(chunk.type):
            chunk = chunk.dictionary_decode()
        if not pa.types.is_string(chunk.type) and chunk.nbytes > _LARGEST and len(chunk) > 1:
            yield from chunks(chunk[: len(chunk) // 2])
            yield from chunks(chunk[len(chunk) // 2 :])
        else:
            yield chunk.cast(pa.string())


def _around_oddities(texts: Sequence[object]) -> Iterator[pa.StringArray | Sequence[object]]:
    """Runs of proper texts, and what stands between them by itself."""
    start = 0
    for row, text in enumerate(texts):
        if not is_proper(text):
            yield from chunks(texts[start:row])
            yield [text]
            start = row + 1
    yield from chunks(texts[start:])
