"""Blocks of JSON texts through Arrow's parser, which refuses a whole block for a single text it does not like.

A refused block is parsed again without the text that Arrow names, or cut into smaller blocks where it names none, until
the texts at fault stand nearly alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from tamis.schema.alignment import Rows, one_batch

_BLOCK_BYTES = 1 << 26
_PARTS = 16
_FEW = 16
_SMALL = 512
_LONG = 4096
_MOST_BRACKETS = 1000
_BLANKS = " \t\r\n"
_NAMED_ROW = re.compile(r" in row (\d+)\b")

Parsed = tuple[Rows, pa.RecordBatch]


def framed(texts: pa.Array) -> Rows:
    """Rows that begin and end like an object, the only ones that may be parsed together.

    That a text which begins with `{` follows each `}` at the end of another makes it impossible for an object to run
    on from one text to the next: as many objects as texts then means one in each.
    """
    mask = pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))
    if not pc.all(mask).as_py():
        trimmed = pc.ascii_trim(texts, _BLANKS)
        mask = pc.and_(pc.starts_with(trimmed, "{"), pc.ends_with(trimmed, "}"))
    fit = np.asarray(pc.fill_null(mask, False))
    long = np.asarray(pc.fill_null(pc.greater(pc.binary_length(texts), _LONG), False))
    if long.any():
        fit = fit.copy()
        for row in np.flatnonzero(long & fit).tolist():
            fit[row] = not _may_be_deep(texts[row])
    return np.flatnonzero(fit)


def _may_be_deep(text: pa.Scalar) -> bool:
    """Whether the text could be nested so deeply that Arrow's parser, which recurses, runs out of stack and dies."""
    written = text.as_buffer().to_pybytes()
    return written.count(b"[") + written.count(b"{") > _MOST_BRACKETS


def partition(texts: pa.Array, rows: Rows, keys: Iterable[str]) -> list[Rows]:
    """The rows by what follows each of these keys: an array, a string, or another thing."""
    picked = texts if len(rows) == len(texts) else texts.take(pa.array(rows))
    signatures = np.zeros(len(rows), dtype=np.int64)
    for key in keys:
        for opening in ('"', r"\["):
            pattern = rf"{re.escape(json.dumps(key, ensure_ascii=False))}\s*:\s*{opening}"
            found = np.asarray(pc.fill_null(pc.match_substring_regex(picked, pattern), False))
            signatures = signatures * 2 + found
    return [rows[signatures == signature] for signature in np.unique(signatures)]


def parse_blocks(texts: pa.Array, rows: Rows, shape: pa.Schema) -> list[Parsed]:
    """Groups of rows that Arrow could parse together; rows that it refused are in none."""
    groups: list[Parsed] = []
    for block in _blocks(texts, rows):
        found = list(_parse_block(texts, block, shape))
        if len(found) > 1:
            together = np.concatenate([part for part, _ in found])
            joined = _parse(texts, together, shape)
            # Names that the schema does not have may hold numbers in one part and strings in another.
            found = [(together, joined)] if isinstance(joined, pa.RecordBatch) else found
        groups += found
    return groups


def _blocks(texts: pa.Array, rows: Rows) -> Iterator[Rows]:
    if not len(rows):
        return
    lengths: npt.NDArray[np.int64] = np.asarray(pc.fill_null(pc.binary_length(texts), 0), dtype=np.int64)[rows]
    block = (np.cumsum(lengths) - lengths) // _BLOCK_BYTES
    yield from np.split(rows, np.flatnonzero(np.diff(block)) + 1)


def _parse_block(texts: pa.Array, rows: Rows, shape: pa.Schema) -> Iterator[Parsed]:
    parsed = _parse(texts, rows, shape)
    dropped = 0
    # Each text left out costs another pass over the block: worth it for one, and in a small block for a few.
    while isinstance(parsed, int) and dropped * _FEW <= (len(rows) if len(rows) <= _SMALL else 0):
        rows = np.delete(rows, parsed)
        dropped += 1
        parsed = _parse(texts, rows, shape) if len(rows) else None
    if isinstance(parsed, pa.RecordBatch):
        yield rows, parsed
    elif len(rows) > _FEW:
        for part in np.array_split(rows, min(_PARTS, len(rows) // _FEW + 1)):
            yield from _parse_block(texts, part, shape)


def _parse(texts: pa.Array, rows: Rows, shape: pa.Schema) -> pa.RecordBatch | int | None:
    """These rows as a batch; if Arrow refuses, the place of the row it blames, if it blames one."""
    picked = texts if len(rows) == len(texts) else texts.take(pa.array(rows))
    line_end = pa.scalar("\n", picked.type)
    joined = pc.binary_join(pa.ListArray.from_arrays([0, len(picked)], picked), line_end)[0].as_buffer()
    try:
        table = pa_json.read_json(
            pa.BufferReader(joined),
            # One block: Arrow would look for the seams between blocks at line ends, which a text may contain.
            read_options=pa_json.ReadOptions(use_threads=False, block_size=joined.size + 1),
            parse_options=pa_json.ParseOptions(explicit_schema=shape, unexpected_field_behavior="infer"),
        )
        return one_batch(table) if table.num_rows == len(rows) else None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError) as error:
        named = _NAMED_ROW.search(str(error))
        return int(named[1]) if named and int(named[1]) < len(rows) else None
