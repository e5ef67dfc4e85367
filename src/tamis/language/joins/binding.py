"""Binding of many join texts at once: texts that differ only in their literals share one parse, as filters do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.errors import FilterError, FilterSyntaxError
from tamis.language.calls import NO_OPERATORS, Signatures
from tamis.language.cutting import Column, Cutting, is_proper
from tamis.language.forms import Filter
from tamis.language.joins.join import Join
from tamis.language.joins.parsing import check_join, normal_join, parse_join
from tamis.language.shapes import ShapeBinding, chunks
from tamis.language.syntax import WORDS
from tamis.language.templates import NoSlot, Reading, Slotted, Span, TemplateCache, all_closed
from tamis.language.tree import DEFAULT_LIMITS, Limits
from tamis.schema import Schema

_NO_TEXT = "a join is a text, and this is none; write SELECT * FROM a JOIN b USING (x)"
# A text that begins with SELECT and can be no comparison of an attribute of that name.
_JOIN = r"(?i)^\s*SELECT\s*(?:\*|[\s\"`]\s*(?:DISTINCT\b|[^\s=<>!+/*.()-]))"
_FILTER = rf"(?i)^\s*SELECT\s+(?:{'|'.join(WORDS)})\b"


@dataclass(frozen=True, slots=True)
class JoinBlock:
    """Joins of one shape: `template` with `Slot(i)` in its filters standing for row r's `columns[i][r]`.

    As `Block` is for filters: `rows` are positions among the texts, columns are in their attribute's type, intervals
    with slots are not merged.
    """

    rows: Int64s
    template: Join
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class BoundJoins:
    """Result of binding `count` texts: each row is in one block or among the errors (in order of row)."""

    count: int
    blocks: list[JoinBlock] = field(default_factory=list)
    errors: list[tuple[int, FilterError]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class JoinTemplate:
    """Normal form of a shape; `readings[i]` is for its literal i, which is `Slot(i)`."""

    join: Join
    readings: tuple[Reading, ...]


def are_joins(texts: pa.Array) -> npt.NDArray[np.bool_]:
    """Mask of the texts meant as joins: they begin with SELECT, and compare no attribute of that name."""
    if len(texts) == 0:
        return np.zeros(0, np.bool_)
    found = pc.and_(pc.match_substring_regex(texts, _JOIN), pc.invert(pc.match_substring_regex(texts, _FILTER)))
    return np.asarray(pc.fill_null(found, False))


def bind_joins(
    texts: pa.Array | pa.ChunkedArray | Sequence[str], schema: Schema, limits: Limits = DEFAULT_LIMITS
) -> BoundJoins:
    """Binds join texts. One that is no join over the schema is among the errors and stops no other."""
    bound = BoundJoins(len(texts))
    first = 0
    for chunk in chunks(texts):
        # What is no text becomes a null here, which `bind_alone` refuses.
        proper = chunk if isinstance(chunk, pa.Array) else [one if is_proper(one) else None for one in chunk]
        strings = proper if isinstance(proper, pa.Array) else pa.array(proper, pa.string())
        _Binding(bound, first, schema, limits).bind(strings)
        first += len(chunk)
    bound.errors.sort(key=lambda error: error[0])
    return bound


class _Binding(ShapeBinding[JoinTemplate]):
    """Binding of one chunk of join texts."""

    def __init__(self, bound: BoundJoins, first: int, schema: Schema, limits: Limits) -> None:
        super().__init__(TEMPLATES, first, schema, limits, NO_OPERATORS)
        self.bound = bound

    def bind(self, texts: pa.StringArray) -> None:
        cutting = Cutting(texts, self.limits.text)
        for rows in cutting.shapes:
            self.bind_shape(texts, cutting, rows)
        for row in cutting.odd.tolist():
            self.bind_alone(row, texts[row].as_py())

    def put(self, rows: Int64s, template: JoinTemplate, columns: tuple[Column, ...]) -> None:
        self.bound.blocks.append(JoinBlock(rows, template.join, columns))

    def bind_alone(self, row: int, text: object) -> None:
        try:
            if not isinstance(text, str):
                raise FilterSyntaxError(_NO_TEXT)
            join = parse_join(text, self.schema, self.limits)
        except FilterError as error:
            self.bound.errors.append((self.first + row, error))
        else:
            self.bound.blocks.append(JoinBlock(np.array([self.first + row], np.int64), join, ()))


def make_join_template(
    text: str, spans: Sequence[Span], schema: Schema, limits: Limits, _operators: Signatures
) -> JoinTemplate | None:
    """Template of the shape of one text, given its literals; None if texts of this shape are parsed one by one."""
    places = {start: (number, end, kind) for number, (start, end, kind) in enumerate(spans)}
    comparisons = Slotted(text, limits, places)
    try:
        join = normal_join(check_join(text, schema, comparisons), schema, limits, text)
    except (FilterError, NoSlot):
        return None
    readings = comparisons.readings
    if len(readings) != len(spans):
        return None
    filters = tuple(Filter(all_closed(filter.conjuncts, readings)) for filter in join.filters)
    return JoinTemplate(
        Join(join.signature, filters, join.columns), tuple(readings[number] for number in range(len(spans)))
    )


TEMPLATES: TemplateCache[JoinTemplate] = TemplateCache(make_join_template)
