"""JSON events, one text each, parsed in bulk by Arrow and validated into a canonical batch.

Arrow's parser takes texts in blocks. The shape of a few of them tells it the types (`learn_shape`), which only makes
success likely; it refuses a whole block for a single text. Such a block is parsed again without the text that Arrow
names, or cut into smaller ones where it names none. Texts that cannot be parsed so, and those whose values leave a
doubt, are read one by one, which also decides whether they are at fault at all: one bad text never loses another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from tamis.arrays import Bools, Int64s
from tamis.schema.canonical import Aligned, align, one_batch
from tamis.schema.checking import Checked, sift
from tamis.schema.columns import EXACT_INTEGERS, either, flat_columns, is_list, rows_of
from tamis.schema.domains import Attribute
from tamis.schema.reading import Reading, check_view, read_event
from tamis.strict_json import StrictJsonError, read_json

if TYPE_CHECKING:
    from tamis.schema.model import Schema


PASSED_OVER: Final = "tamis.passed_over"
"""Member of an event that a service has judged: it holds what was no attribute then. No attribute is read from it."""

_BLOCK_BYTES = 1 << 26
_PARTS = 16
_FEW = 16
_SMALL = 512
_LONG = 4096
_MOST_BRACKETS = 1000
_BLANKS = " \t\r\n"
_NAMED_ROW = re.compile(r" in row (\d+)\b")

Parsed = tuple[Int64s, pa.RecordBatch]


def framed(texts: pa.Array) -> Int64s:
    """Mask of rows that begin and end like an object, the only ones that may be parsed together.

    That a text which begins with `{` follows each `}` at the end of another makes it impossible for an object to run on
    from one text to the next: as many objects as texts then means one in each.
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
    """True if the text could be nested so deeply that Arrow's parser, which recurses, runs out of stack and dies."""
    written = text.as_buffer().to_pybytes()
    return written.count(b"[") + written.count(b"{") > _MOST_BRACKETS


def partition(texts: pa.Array, rows: Int64s, keys: Iterable[str]) -> list[Int64s]:
    """Groups of rows by what follows each of these keys: an array, a string, or another thing."""
    picked = texts if len(rows) == len(texts) else texts.take(pa.array(rows))
    signatures = np.zeros(len(rows), dtype=np.int64)
    for key in keys:
        for opening in ('"', r"\["):
            pattern = rf"{re.escape(json.dumps(key, ensure_ascii=False))}\s*:\s*{opening}"
            found = np.asarray(pc.fill_null(pc.match_substring_regex(picked, pattern), False))
            signatures = signatures * 2 + found
    return [rows[signatures == signature] for signature in np.unique(signatures)]


def parse_blocks(texts: pa.Array, rows: Int64s, shape: pa.Schema) -> list[Parsed]:
    """Parses groups of rows that Arrow could parse together; rows that it refused are in none."""
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


def _blocks(texts: pa.Array, rows: Int64s) -> Iterator[Int64s]:
    if not len(rows):
        return
    lengths: npt.NDArray[np.int64] = np.asarray(pc.fill_null(pc.binary_length(texts), 0), dtype=np.int64)[rows]
    block = (np.cumsum(lengths) - lengths) // _BLOCK_BYTES
    yield from np.split(rows, np.flatnonzero(np.diff(block)) + 1)


def _parse_block(texts: pa.Array, rows: Int64s, shape: pa.Schema) -> Iterator[Parsed]:
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


def _parse(texts: pa.Array, rows: Int64s, shape: pa.Schema) -> pa.RecordBatch | int | None:
    """Batch of these rows; if Arrow refuses, the place of the row it blames, if it blames one."""
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


Path = tuple[str | None, ...]
"""Keys on the way to a value; None after a key whose value is a list, into each of whose objects the way goes on."""

_EACH = None
Tree = dict[str | None, Any]
# Every further key may double the number of groups.
_MOST_MIXED = 4


def learn_shape(schema: Schema, samples: Iterable[object]) -> pa.Schema:
    """Columns to expect: each attribute where and as the samples have it, nested by its dots if none does."""
    root: Tree = {}
    met = set()
    for path, values in _seen(schema, samples).items():
        name = _name(path)
        met.add(name)
        _plant(root, path, _expected(schema.attributes[name], values))
    for name, attribute in schema.attributes.items():
        if name not in met:
            _plant(root, tuple(name.split(".")), _expected(attribute, []))
    return pa.schema(_fields(root))


def mixed_keys(schema: Schema, samples: Iterable[object]) -> list[str]:
    """Keys whose values differ in form between samples.

    That is an array here and a scalar or an object there, or a string here and a number there.
    """
    writings: dict[tuple[str, ...], set[object]] = {}
    for path, values in _seen(schema, samples).items():
        for place, key in enumerate(path[:-1]):
            if key is not _EACH:
                writings.setdefault(_keys(path[: place + 1]), set()).add(list if path[place + 1] is _EACH else dict)
        writings.setdefault(_keys(path), set()).update(map(_writing, values))
    return sorted({keys[-1] for keys, found in writings.items() if len(found) > 1})[:_MOST_MIXED]


def _writing(value: object) -> type:
    return float if isinstance(value, int) else type(value)


def _seen(schema: Schema, samples: Iterable[object]) -> dict[Path, list[object]]:
    """Kinds of values that the samples have at each path that leads to an attribute."""
    seen: dict[Path, list[object]] = {}
    for sample in samples:
        if isinstance(sample, Mapping):
            for path, value in _leaves(sample, (), schema.solitary):
                if _name(path) in schema.attributes:
                    seen.setdefault(path, []).append(value)
    return seen


def _keys(path: Path) -> tuple[str, ...]:
    return tuple(key for key in path if key is not None)


def _name(path: Path) -> str:
    return ".".join(_keys(path))


def _leaves(value: object, path: Path, solitary: Collection[str]) -> Iterator[tuple[Path, object]]:
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _leaves(member, (*path, key), solitary)
    elif isinstance(value, list) and _holds_objects(value) and _name(path) not in solitary:
        for item in value:
            if isinstance(item, Mapping | list):
                yield from _leaves(item, (*path, _EACH), solitary)
    elif value is not None and path[-1] is not _EACH:
        yield path, value


def _holds_objects(value: list[object]) -> bool:
    return any(isinstance(item, Mapping) or (isinstance(item, list) and _holds_objects(item)) for item in value)


def _expected(attribute: Attribute, values: list[object]) -> pa.DataType:
    lists = [value for value in values if isinstance(value, list)]
    items = [value for value in values if not isinstance(value, list)] + [item for items in lists for item in items]
    kind = attribute.domain.arrow_type
    if attribute.domain.kind == "integer" and any(isinstance(item, float) for item in items):
        kind = pa.float64()
    elif attribute.domain.kind == "timestamp":
        numbers = any(isinstance(item, int) for item in items)
        kind = pa.int64() if numbers else pa.string()
    elif attribute.domain.kind == "binary":
        kind = pa.string()
    several = len(lists) * 2 > len(values) if values else attribute.multiple
    return pa.list_(kind) if several else kind


def _plant(root: Tree, path: Path, kind: pa.DataType) -> None:
    """Puts a leaf into the tree, unless one attribute's leaf stands on another's way: then it goes without."""
    node = root
    for place, key in enumerate(path):
        while key is not _EACH and _EACH in node:
            # No sample has it: it is expected beside its neighbours, once in each object of their list.
            node = node[_EACH]
            kind = kind.value_type if pa.types.is_list(kind) else kind
        if place == len(path) - 1:
            node.setdefault(key, kind)
            return
        child = node.setdefault(key, {})
        if not isinstance(child, dict):
            return
        node = child


def _fields(node: Tree) -> list[pa.Field]:
    return [pa.field(str(name), _kind(child)) for name, child in node.items()]


def _kind(node: Any) -> pa.DataType:
    if not isinstance(node, dict):
        return node
    return pa.list_(_kind(node[_EACH])) if _EACH in node else pa.struct(_fields(node))


_SAMPLED = 32


def check_json(
    schema: Schema, lines: pa.Array | pa.ChunkedArray, ignore_unknown: bool, judged: bool = False
) -> Checked:
    """Checks JSON texts against the schema."""
    texts = _texts(lines)
    aligned = _align_texts(schema, texts, ignore_unknown)

    def read(rows: Int64s) -> Iterable[Reading]:
        for row in rows.tolist():
            yield _read_text(schema, texts[row], row, ignore_unknown, judged)

    return sift(schema, aligned, read, judged)


def parse_json(text: str) -> object:
    """Parses an event's text to Python values, each for the schema to judge; `StrictJsonError` if it is no JSON."""
    return read_json(text, deepest=None, exact=True)


def _read_text(schema: Schema, text: pa.Scalar, row: int, ignore_unknown: bool, judged: bool) -> Reading:
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
        marked = judged and isinstance(event, Mapping) and PASSED_OVER in event
        check_view(schema, reading, ignore_unknown, judged, waived=marked)
    return reading


def _texts(lines: pa.Array | pa.ChunkedArray) -> pa.Array:
    whole = lines.combine_chunks() if isinstance(lines, pa.ChunkedArray) else lines
    if pa.types.is_binary(whole.type):
        return whole.view(pa.string())
    return whole if pa.types.is_string(whole.type) else whole.cast(pa.large_string())


def _align_texts(schema: Schema, texts: pa.Array, ignore_unknown: bool) -> Aligned:
    """Parses in bulk the rows that it can; every other row is doubtful."""
    doubtful = np.ones(len(texts), dtype=np.bool_)
    parts: list[tuple[Int64s, Aligned]] = []
    for rows, shape in _shapes(schema, texts):
        for parsed, batch in parse_blocks(texts, rows, shape):
            aligned = align(schema, batch, ignore_unknown)
            unsure = either(aligned.doubtful, _inexact(batch))
            doubtful[parsed] = False if unsure is None else unsure
            parts.append((parsed, aligned))
    if len(parts) == 1 and len(parts[0][0]) == len(texts):
        return Aligned(len(texts), parts[0][1].columns, [], doubtful)
    return Aligned(len(texts), _spread(schema, parts, len(texts)), [], doubtful)


def _shapes(schema: Schema, texts: pa.Array) -> Iterator[tuple[Int64s, pa.Schema]]:
    """Groups of rows that look like objects, by the ways in which publishers write an attribute."""
    rows = framed(texts)
    samples = _sample(texts, rows)
    mixed = mixed_keys(schema, samples)
    if not mixed:
        yield rows, learn_shape(schema, samples)
        return
    for part in partition(texts, rows, mixed):
        yield part, learn_shape(schema, _sample(texts, part))


def _sample(texts: pa.Array, rows: Int64s) -> list[object]:
    """Sample of events, drawn the same way every time; not at even distances, for publishers may take turns."""
    samples = []
    drawn = np.random.default_rng(0).choice(rows, min(_SAMPLED, len(rows)), replace=False)
    for row in drawn.tolist():
        try:
            samples.append(parse_json(texts[row].as_py()))
        except (StrictJsonError, UnicodeDecodeError):
            continue
    return samples


def _inexact(batch: pa.RecordBatch) -> Bools | None:
    """Mask of rows with a float so large that an integer in the text may have been rounded to it."""
    doubtful: Bools | None = None
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


def _spread(schema: Schema, parts: list[tuple[Int64s, Aligned]], count: int) -> dict[str, pa.Array]:
    """Columns of the parts put where their rows are; null in rows of no part."""
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
