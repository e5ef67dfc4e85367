"""Binding of many filter texts at once: texts that differ only in their literals share one parse, as a template.

`ShapeBinding` is the part that filters and joins (joins/binding.py) have in common: chunks of texts that Arrow holds,
cut into shapes, each bound by its template.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.errors import FilterError, FilterSyntaxError
from tamis.language.calls import NO_OPERATORS, Signatures
from tamis.language.cutting import (
    Column,
    Cutting,
    Fits,
    as_strings,
    cut_one,
    fill_conjunct,
    is_proper,
    read_column,
    read_value,
)
from tamis.language.forms import CalledFilter, Filter, bound_form, normal_form, plain_form, settled
from tamis.language.kernels import terms_of
from tamis.language.parsing import parse
from tamis.language.templates import TEMPLATES, Reading, Template, TemplateCache
from tamis.language.tree import DEFAULT_LIMITS, And, Conjunct, Limits
from tamis.schema import Schema

_LARGEST = 1 << 30
_FEW = 4  # from the fifth text on, compiled loops over arrays are faster


def read_columns(
    readings: Sequence[Reading], cutting: Cutting, rows: Int64s, limits: Limits
) -> tuple[tuple[Column, ...], Fits]:
    """Columns of a shape's slots over some of its rows, and a mask of rows that all of them can be read for."""
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
    """Chunks of the texts in order: few texts, or those that Arrow cannot hold, as they are; many as Arrow strings.

    A chunk of Arrow strings is below two gigabytes.
    """
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
    """Runs of proper texts, and the odd texts between them one by one."""
    start = 0
    for row, text in enumerate(texts):
        if not is_proper(text):
            yield from chunks(texts[start:row])
            yield [text]
            start = row + 1
    yield from chunks(texts[start:])


class Readable(Protocol):
    """A template of either kind: how the literals of its shape are read."""

    @property
    def readings(self) -> tuple[Reading, ...]: ...


Made = TypeVar("Made", bound=Readable)


class ShapeBinding(ABC, Generic[Made]):
    """Binding of one chunk of texts, whose first is row `first` of the whole; every row is put or bound alone once."""

    def __init__(
        self, templates: TemplateCache[Made], first: int, schema: Schema, limits: Limits, operators: Signatures
    ) -> None:
        self.templates = templates
        self.first = first
        self.schema = schema
        self.limits = limits
        self.operators = operators

    def bind_shape(self, texts: pa.StringArray, cutting: Cutting, rows: Int64s) -> None:
        """Binds texts of one shape: one parse for all whose literals can be read as the first's are."""
        row = int(rows[0])
        text = texts[row].as_py()
        template = None
        if text is not None:
            shape, spans = cutting.example(row, text)
            template = self.templates.template(shape, text, lambda: spans, self.schema, self.limits, self.operators)
        if template is None:
            for row in rows.tolist():
                self.bind_alone(row, texts[row].as_py())
            return
        columns, fits = read_columns(template.readings, cutting, rows, self.limits)
        if fits is not None:
            for row in rows[~fits].tolist():
                self.bind_alone(row, texts[row].as_py())
            rows = rows[fits]
        if len(rows):
            self.put(rows + self.first, template, columns)

    @abstractmethod
    def bind_alone(self, row: int, text: object) -> None:
        """Binds a text that is parsed for itself."""

    @abstractmethod
    def put(self, rows: Int64s, template: Made, columns: tuple[Column, ...]) -> None:
        """Notes bound rows of the whole: a template, with columns of values for its literals."""


_NO_TEXT = "a filter is a text, and this is {}; write TRUE for a filter that every event passes"
# So many shapes of fewer than so many texts are worth looking at term by term.
_MANY, _RARE = 64, 8
_STRING = partial(pa.array, type=pa.string())


@dataclass(frozen=True, slots=True)
class Block:
    """Filters of one shape: `template` with `Slot(i)` standing for row r's `columns[i][r]`.

    `rows` are positions among the texts given to `bind`, ascending. Column values are in their attribute's type: int64
    for integers and timestamps, float64, and Arrow strings for strings, enumerated and hierarchical values and
    patterns. A block without columns has real values in its template. Intervals with slots are not merged, and a list
    of slots may come to the same value twice.
    """

    rows: npt.NDArray[np.int64]
    template: Filter
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class CalledBlock:
    """Block of filters that call operators. Slots also stand in calls and constraints, there within `Moment`s."""

    rows: npt.NDArray[np.int64]
    template: CalledFilter
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """Result of binding `count` texts: each row is in one block, or in blocks of `terms`, or in `errors` (by row).

    Filters that call operators are in no block of `blocks` and `terms` but in one of `called`.

    The filter of a row in `terms` is the conjunction of all its blocks there, each of which has one conjunct; in those
    blocks a row may stand more than once. `limits` are those that the texts were held to.
    """

    count: int
    blocks: list[Block] = field(default_factory=list)
    terms: list[Block] = field(default_factory=list)
    called: list[CalledBlock] = field(default_factory=list)
    errors: list[tuple[int, FilterError]] = field(default_factory=list)
    limits: Limits = DEFAULT_LIMITS


def bind(
    texts: pa.Array | pa.ChunkedArray | Sequence[str],
    schema: Schema,
    limits: Limits = DEFAULT_LIMITS,
    operators: Signatures = NO_OPERATORS,
) -> Bound:
    """Binds filter texts. One that is no filter over the schema is among the errors and stops no other."""
    bound = Bound(len(texts), limits=limits)
    first = 0
    for chunk in chunks(texts):
        _Binding(bound, first, schema, limits, operators).bind(chunk)
        first += len(chunk)
    bound.errors.sort(key=lambda error: error[0])
    return bound


def normal_form_of(
    text: str, schema: Schema, limits: Limits = DEFAULT_LIMITS, operators: Signatures = NO_OPERATORS
) -> Filter | CalledFilter:
    """Normal form of one text; `FilterError` if it has none.

    A text is not parsed if another of its shape was, and is a conjunction over different attributes: then its literals
    are put into the template.
    """
    conjunct = _filled(text, schema, limits, operators)
    if conjunct is not None:
        return plain_form(And(conjunct), schema, limits, text)
    return normal_form(parse(text, schema, limits, operators), schema, limits, text)


def _filled(text: str, schema: Schema, limits: Limits, operators: Signatures) -> Conjunct | None:
    """Conjunct of a text, its literals filled in; None if the text has to be parsed."""
    # Wildcards are limited over all patterns of a text, which a shape does not know.
    found = cut_one(text) if len(text) <= min(limits.text, limits.wildcards_in_all) and is_proper(text) else None
    if found is None:
        return None
    template = TEMPLATES.template(found.shape, text, found.spans, schema, limits, operators)
    if template is None or isinstance(template.filter, CalledFilter) or len(template.filter.conjuncts) != 1:
        return None
    (conjunct,) = template.filter.conjuncts
    if settled(And(conjunct), limits) is None:
        return None
    values = [read_value(*read, limits) for read in zip(template.readings, found.literals, strict=True)]
    return None if None in values else fill_conjunct(conjunct, values)


class _Binding(ShapeBinding[Template]):
    """Binding of the filters of one chunk of texts, those of rare shapes by their terms."""

    def __init__(self, bound: Bound, first: int, schema: Schema, limits: Limits, operators: Signatures) -> None:
        super().__init__(TEMPLATES, first, schema, limits, operators)
        self.bound = bound

    def bind(self, texts: pa.StringArray | Sequence[object]) -> None:
        if not isinstance(texts, pa.Array):
            for row, text in enumerate(texts):
                self.bind_one(row, text)
            return
        cutting = Cutting(texts, self.limits.text)
        shapes = cutting.shapes
        if sum(len(rows) < _RARE for rows in shapes) > _MANY:
            shapes = self.bind_terms(texts, shapes)
        for rows in shapes:
            self.bind_shape(texts, cutting, rows)
        for row in cutting.odd.tolist():
            self.bind_alone(row, texts[row].as_py())

    def bind_terms(self, texts: pa.StringArray, shapes: list[Int64s]) -> list[Int64s]:
        """Binds rare shapes by their terms, where every term comes to one conjunct; returns the shapes left."""
        rows = np.concatenate([some for some in shapes if len(some) < _RARE])
        lengths = np.diff(np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1])
        # No comparison is shorter than `a=1`: what is not longer than that has no more of them than the limit.
        rows = rows[lengths[rows] <= min(self.limits.text, 3 * self.limits.terms)]
        terms, owners = terms_of(texts, rows)
        inner = bind(
            terms, self.schema, self.limits, self.operators
        )  # a term is no conjunction of terms: all is in its blocks
        fits = np.bincount(owners, minlength=len(rows)) > 0
        fits[owners[[row for row, _ in inner.errors]]] = False
        for called in inner.called:
            fits[owners[called.rows]] = False
        for block in inner.blocks:
            if len(block.template.conjuncts) != 1:
                fits[owners[block.rows]] = False
        for block in inner.blocks:
            sound = fits[owners[block.rows]]
            if sound.any():
                columns = tuple(kept(column, sound) for column in block.columns)
                self.bound.terms.append(Block(rows[owners[block.rows[sound]]] + self.first, block.template, columns))
        done = np.zeros(len(texts), np.bool_)
        done[rows[fits]] = True
        return [left for some in shapes if len(left := some[~done[some]])]

    def bind_one(self, row: int, text: object) -> None:
        """Binds a text as a shape with one row, where that saves a parse."""
        fits = isinstance(text, str) and len(text) <= self.limits.text and is_proper(text)
        found = cut_one(str(text)) if fits else None
        template = None
        if found is not None:
            template = self.templates.template(
                found.shape, str(text), found.spans, self.schema, self.limits, self.operators
            )
        if found is None or template is None:
            return self.bind_alone(row, text)
        columns: list[Column] = []
        for reading, literal in zip(template.readings, found.literals, strict=True):
            value = read_value(reading, literal, self.limits)
            if value is None:
                return self.bind_alone(row, text)
            columns.append(_STRING([value]) if isinstance(value, str) else np.array([value]))
        self.append(np.array([self.first + row], np.int64), template.filter, tuple(columns))
        return None

    def bind_alone(self, row: int, text: object) -> None:
        try:
            if not isinstance(text, str):
                raise FilterSyntaxError(_NO_TEXT.format("NULL" if text is None else type(text).__name__))
            tree = parse(text, self.schema, self.limits, self.operators)
            filter = bound_form(tree, self.schema, self.limits, text)
        except FilterError as error:
            self.bound.errors.append((self.first + row, error))
        else:
            self.append(np.array([self.first + row], np.int64), filter, ())

    def put(self, rows: Int64s, template: Template, columns: tuple[Column, ...]) -> None:
        self.append(rows, template.filter, columns)

    def append(self, rows: Int64s, filter: Filter | CalledFilter, columns: tuple[Column, ...]) -> None:
        if isinstance(filter, CalledFilter):
            self.bound.called.append(CalledBlock(rows, filter, columns))
        else:
            self.bound.blocks.append(Block(rows, filter, columns))
