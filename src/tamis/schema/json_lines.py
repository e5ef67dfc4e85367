"""JSON texts, one event each, as a canonical batch.

Texts are parsed in blocks. Those that cannot be, and those whose values leave a doubt, are read one by one, which also
decides whether they are at fault at all: one bad text never loses another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.schema.alignment import Aligned, Rows, align
from tamis.schema.checking import Checked, sift
from tamis.schema.columns import EXACT_INTEGERS, Mask, either, flat_columns, is_list, rows_of
from tamis.schema.json_blocks import framed, parse_blocks, partition
from tamis.schema.json_shape import learn_shape, mixed_keys
from tamis.schema.reading import Reading, check_view, read_event
from tamis.strict_json import StrictJsonError, read_json

if TYPE_CHECKING:
    from tamis.schema.model import Schema

_SAMPLED = 32


def check_json(schema: Schema, lines: pa.Array | pa.ChunkedArray, ignore_unknown: bool) -> Checked:
    """Check JSON texts against the schema."""
    texts = _texts(lines)
    aligned = _align_texts(schema, texts, ignore_unknown)

    def read(rows: Rows) -> Iterable[Reading]:
        for row in rows.tolist():
            yield _read_text(schema, texts[row], row, ignore_unknown)

    return sift(schema, aligned, read)


def parse_json(text: str) -> object:
    """An event's text as Python values, each for the schema to judge; `StrictJsonError` if it is no JSON."""
    return read_json(text, deepest=None, exact=True)


def _read_text(schema: Schema, text: pa.Scalar, row: int, ignore_unknown: bool) -> Reading:
    reading = Reading(row)
    if not text.is_valid:
        reading.refuse("", "form", None, "there is no text")
        return reading
    try:
        line = text.as_py()
    except UnicodeDecodeError:
        reading.refuse("", "form", repr(text.as_buffer().to_pybytes()), "the text is not UTF-8")
        return reading
    try:
        event = parse_json(line)
    except StrictJsonError as error:
        reading.refuse("", "form", line, str(error))
        return reading
    reading = read_event(schema, event, row)
    if not reading.malformed:
        check_view(schema, reading, ignore_unknown)
    return reading


def _texts(lines: pa.Array | pa.ChunkedArray) -> pa.Array:
    whole = lines.combine_chunks() if isinstance(lines, pa.ChunkedArray) else lines
    if pa.types.is_binary(whole.type):
        return whole.view(pa.string())
    return whole if pa.types.is_string(whole.type) else whole.cast(pa.large_string())


def _align_texts(schema: Schema, texts: pa.Array, ignore_unknown: bool) -> Aligned:
    """Parse in bulk what can be; every other row is doubtful."""
    doubtful = np.ones(len(texts), dtype=np.bool_)
    parts: list[tuple[Rows, Aligned]] = []
    for rows, shape in _shapes(schema, texts):
        for parsed, batch in parse_blocks(texts, rows, shape):
            aligned = align(schema, batch, ignore_unknown)
            unsure = either(aligned.doubtful, _inexact(batch))
            doubtful[parsed] = False if unsure is None else unsure
            parts.append((parsed, aligned))
    if len(parts) == 1 and len(parts[0][0]) == len(texts):
        return Aligned(len(texts), parts[0][1].columns, [], doubtful)
    return Aligned(len(texts), _spread(schema, parts, len(texts)), [], doubtful)


def _shapes(schema: Schema, texts: pa.Array) -> Iterator[tuple[Rows, pa.Schema]]:
    """The rows that look like objects, apart where publishers write an attribute in different ways."""
    rows = framed(texts)
    samples = _sample(texts, rows)
    mixed = mixed_keys(schema, samples)
    if not mixed:
        yield rows, learn_shape(schema, samples)
        return
    for part in partition(texts, rows, mixed):
        yield part, learn_shape(schema, _sample(texts, part))


def _sample(texts: pa.Array, rows: Rows) -> list[object]:
    """A few events, drawn the same way every time; not at even distances, for publishers may take turns."""
    samples = []
    drawn = np.random.default_rng(0).choice(rows, min(_SAMPLED, len(rows)), replace=False)
    for row in drawn.tolist():
        try:
            samples.append(parse_json(texts[row].as_py()))
        except (StrictJsonError, UnicodeDecodeError):
            continue
    return samples


def _inexact(batch: pa.RecordBatch) -> Mask | None:
    """Rows with a float so large that an integer in the text may have been rounded to it."""
    doubtful: Mask | None = None
    for _, array in flat_columns(batch):
        nested = is_list(array.type)
        items = array.flatten() if nested else array
        if not pa.types.is_float64(items.type):
            continue
        large = pc.fill_null(pc.greater_equal(pc.abs(items), EXACT_INTEGERS), False)
        if pc.any(large).as_py():
            mask = np.asarray(large)
            lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0)) if nested else None
            doubtful = either(doubtful, mask if lengths is None else rows_of(mask, lengths))
    return doubtful


def _spread(schema: Schema, parts: list[tuple[Rows, Aligned]], count: int) -> dict[str, pa.Array]:
    """The columns of the parts put where their rows are; null in rows of no part."""
    order = np.full(count, -1, dtype=np.int64)
    if parts:
        rows = np.concatenate([rows for rows, _ in parts])
        order[rows] = np.arange(len(rows))
    places = pa.array(order, mask=order < 0)
    columns = {}
    for name, attribute in schema.attributes.items():
        if any(name in aligned.columns for _, aligned in parts):
            kind = attribute.arrow_type
            pieces = [aligned.columns.get(name, pa.nulls(aligned.count, kind)) for _, aligned in parts]
            columns[name] = pa.concat_arrays([piece.cast(kind) for piece in pieces]).take(places)
    return columns
