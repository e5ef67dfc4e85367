"""Texts cut into shapes and literals, literals read as columns of values, and templates filled with them again.

`Cutting` cuts many texts, in compiled loops over arrays; those cost more than they save for few texts, which `cut_one`
and `read_value` take in plain Python. Both agree on every text that the latter take.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.language import kernels
from tamis.language.calls import Called, Moment, with_parts
from tamis.language.kernels import DECIMAL, INTEGER, STRING
from tamis.language.patterns import like_fault, rlike_fault
from tamis.language.predicates import INT_MAX, INT_MIN, Literal, Not, OneOf, Slot, Value, read_timestamp
from tamis.language.templates import Reading, Span
from tamis.language.tree import Conjunct, Limits
from tamis.schema import EnumeratedDomain, HierarchicalDomain

_WORD = r"A-Za-z0-9_\x80-\U0010FFFF"
_LITERAL = re.compile(
    rf"""('[^']*+(?:''[^']*+)*+'|(?<![{_WORD}.])[0-9]++(?:\.[0-9]*+)?+(?:[eE][+-]?[0-9]++)?+(?![{_WORD}.]))"""
)
_QUOTED_OR_COMMENTED = re.compile(r"""["`{\0]|--|/\*""")
_EXACT_INT = 1 << 53


@dataclass(frozen=True, slots=True)
class Cut:
    """A text's shape, and its literals as written."""

    shape: str
    literals: list[str]
    pieces: list[str]

    def spans(self) -> list[Span]:
        """Spans of the literals."""
        spans: list[Span] = []
        at = 0
        for number, piece in enumerate(self.pieces):
            if number % 2:
                spans.append((at, at + len(piece), kind_of(piece)))
            at += len(piece)
        return spans


def kind_of(literal: str) -> int:
    """Kind of a literal (kernels.py)."""
    return STRING if literal[0] == "'" else INTEGER if literal.isdecimal() else DECIMAL


def cut_one(text: str) -> Cut | None:
    """Shape and literals of one text; None for a text with quoted names or comments, which need a closer look."""
    if _QUOTED_OR_COMMENTED.search(text):
        return None
    pieces = _LITERAL.split(text)
    literals = pieces[1::2]
    marked = pieces.copy()
    marked[1::2] = [_MARKS[kind_of(literal)] for literal in literals]
    return Cut("".join(marked), literals, pieces)


def mark(kind: int) -> str:
    """Mark of a literal in a shape; texts with a NUL of their own have no shape."""
    return _MARKS[kind]


_MARKS = {kind: f"\0{kind}" for kind in (INTEGER, DECIMAL, STRING)}


def read_value(reading: Reading, literal: str, limits: Limits) -> Value | None:
    """Value of the slot; None if the text has to be parsed by itself."""
    kind = reading.attribute.domain.kind
    if kind == "integer":
        return _stepped_value(reading, int(literal)) if len(literal) < 40 else None
    if kind == "float":
        return _float(reading, literal)
    string = literal[1:-1].replace("''", "'")
    if kind == "timestamp":
        moment = read_timestamp(string)
        return None if moment is None else _stepped_value(reading, moment)
    domain = reading.attribute.domain
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        return None if domain.position(string) is None else string
    if reading.role == "like":
        return string if like_fault(string, limits) is None else None
    if reading.role == "rlike":
        return string if rlike_fault(string, limits) is None else None
    return string


def _stepped_value(reading: Reading, value: int) -> int | None:
    if value > INT_MAX:
        return None
    value = (-value if reading.negative else value) + reading.step
    return value if INT_MIN <= value <= INT_MAX else None


def _float(reading: Reading, literal: str) -> float | None:
    if reading.kind == INTEGER and (len(literal) > 400 or int(literal) > _EXACT_INT):
        return None
    value = float(literal)
    return None if math.isinf(value) else (-value if reading.negative else value) + 0.0


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
        self.odd: Int64s = np.flatnonzero(groups < 0)
        self.shapes: list[Int64s] = [rows[bounds[g] : bounds[g + 1]] for g in range(shapes)]

    def example(self, row: int, text: str) -> tuple[str, list[Span]]:
        """Shape of a row, and where its literals stand in its text."""
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

    def literals(self, rows: Int64s, number: int) -> Int64s:
        """Span of each row's literal of that number."""
        return self._owners[rows] + number

    def integers(self, literals: Int64s) -> tuple[Int64s, npt.NDArray[np.bool_]]:
        """Integers written in literals, and a mask of those that fit into 64 bits."""
        values, fits = np.empty(len(literals), np.int64), np.empty(len(literals), np.bool_)
        kernels.read_integers(self._data, self._spans, literals, values, fits)
        return values, fits

    def texts(self, literals: Int64s) -> pa.StringArray:
        """Literals as written, strings without their quotes."""
        ends = np.empty(len(literals) + 1, np.int32)
        sizes = self._spans[literals, 1] - self._spans[literals, 0]
        out = np.empty(int(sizes.sum()), np.uint8)
        size = kernels.copy_texts(self._data, self._spans, literals, ends, out)
        return pa.StringArray.from_buffers(len(literals), pa.py_buffer(ends), pa.py_buffer(out[:size]))


def as_strings(texts: Sequence[str]) -> pa.StringArray | pa.ChunkedArray | None:
    """Texts as Arrow strings; None if some are no text at all."""
    try:
        return pa.array(texts, pa.string())
    except (pa.ArrowException, UnicodeError, TypeError):
        return None


def is_proper(text: object) -> bool:
    """True if Arrow can hold the text among strings: a string of whole characters, or None."""
    if not isinstance(text, str):
        return text is None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


Column: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64] | pa.StringArray
Fits: TypeAlias = npt.NDArray[np.bool_] | None
"""Which rows a template holds for; None for all of them."""

_EXACT = 1 << 53


def read_column(reading: Reading, cutting: Cutting, literals: Int64s, limits: Limits) -> tuple[Column, Fits]:
    """Values of the slot, and a mask of those that the attribute can be compared with as they stand.

    A row that does not fit is parsed by itself, which finds the comparison it comes down to, or the error.
    """
    match reading.attribute.domain.kind:
        case "integer":
            return _stepped(reading, *cutting.integers(literals))
        case "float":
            return _floats(reading, cutting, literals)
        case "timestamp":
            return _timestamps(reading, cutting.texts(literals))
    texts = cutting.texts(literals)
    domain = reading.attribute.domain
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        return texts, _some(pc.is_in(texts, value_set=pa.array(domain.values, pa.string())))
    if reading.role == "value":
        return texts, None
    fault = like_fault if reading.role == "like" else rlike_fault
    return texts, _each(texts, lambda pattern: fault(pattern, limits) is None)


def _stepped(reading: Reading, values: npt.NDArray[np.int64], fits: npt.NDArray[np.bool_]) -> tuple[Column, Fits]:
    if reading.negative:
        values = -values
    if reading.step:
        fits = fits & (values != (INT_MAX if reading.step > 0 else INT_MIN))
        values = values + reading.step
    return values, None if fits.all() else fits


def _floats(reading: Reading, cutting: Cutting, literals: Int64s) -> tuple[Column, Fits]:
    if reading.kind == INTEGER:
        whole, fits = cutting.integers(literals)
        fits &= whole <= _EXACT
        values = whole.astype(np.float64)
    else:
        values = cutting.texts(literals).cast(pa.float64()).to_numpy(zero_copy_only=False)
        fits = np.isfinite(values)
    # Adding zero turns a negative zero into zero, of which there is one in a filter.
    return (-values if reading.negative else values) + 0.0, None if fits.all() else fits


def _timestamps(reading: Reading, texts: pa.StringArray) -> tuple[Column, Fits]:
    coded = texts.dictionary_encode()
    moments = [read_timestamp(text) for text in coded.dictionary.to_pylist()]
    codes = coded.indices.to_numpy(zero_copy_only=False)
    values = np.array([moment or 0 for moment in moments], np.int64)[codes]
    return _stepped(reading, values, np.array([moment is not None for moment in moments], np.bool_)[codes])


def _each(texts: pa.StringArray, accepts: Callable[[str], bool]) -> Fits:
    coded = texts.dictionary_encode()
    accepted = np.array([accepts(text) for text in coded.dictionary.to_pylist()], np.bool_)
    return None if accepted.all() else accepted[coded.indices.to_numpy(zero_copy_only=False)]


def _some(mask: Any) -> Fits:
    fits: npt.NDArray[np.bool_] = mask.to_numpy(zero_copy_only=False)
    return None if fits.all() else fits


_Called = TypeVar("_Called", bound=Called)


def literals_of(columns: Sequence[Column], count: int) -> list[tuple[Any, ...]]:
    """Literals of a block of so many rows, a tuple per row, in the language's types."""
    if not columns:
        return [()] * count
    listed = [column.to_pylist() if isinstance(column, pa.Array) else column.tolist() for column in columns]
    return list(zip(*listed, strict=True))


def fill_called(leaf: _Called, values: Sequence[Any]) -> _Called:
    """Call or constraint with the values of its slots."""

    def value(part: Any) -> Any:
        if isinstance(part, Moment):
            return Moment(value(part.microseconds))
        return values[part.number] if isinstance(part, Slot) else part

    return with_parts(leaf, value)  # type: ignore[return-value]


def fill_conjunct(conjunct: Conjunct, values: Sequence[Any]) -> Conjunct:
    """Conjunct with the values of its slots.

    The result need not be in normal form: it was before there were values.
    """
    return tuple(_filled(literal, values) for literal in conjunct)


def _filled(literal: Literal, values: Sequence[Any]) -> Literal:
    if isinstance(literal, Not):
        leaf = _filled(literal.leaf, values)
        assert not isinstance(leaf, Not)
        return Not(leaf)
    if isinstance(literal, OneOf):
        listed = {values[one.number] if isinstance(one, Slot) else one for one in literal.values}
        return replace(literal, values=tuple(sorted(listed)))
    slots = {one.name: part for one in fields(literal) if isinstance(part := getattr(literal, one.name), Slot)}
    return replace(literal, **{name: values[slot.number] for name, slot in slots.items()})
