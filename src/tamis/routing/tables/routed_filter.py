"""A filter as brokers know it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from tamis.errors import FilterError, FilterSyntaxError
from tamis.language import DEFAULT_LIMITS, Filter, Limits, bind, normalise, parse, print_filter
from tamis.language.cutting import fill_conjunct, literals_of
from tamis.language.joins import are_joins
from tamis.language.predicates import sort_key
from tamis.language.tree import Conjunct
from tamis.schema import Schema

_MANY: Final = 8


@dataclass(frozen=True, slots=True)
class RoutedFilter:
    """A filter under its canonical text, which is all that brokers know it by.

    Who asked for it is known to the broker that they are at, and to nobody else: filters that are alike are one from
    there on, so that tables are the same in whatever order they came about.
    """

    text: str
    form: Filter = field(compare=False)


def read_filter(text: str, schema: Schema, limits: Limits = DEFAULT_LIMITS) -> RoutedFilter:
    """The filter in canonical form; `FilterError` if the text is none, calls operators, or joins tables."""
    if schema.tables and are_joins(pa.array([text]))[0]:
        raise FilterSyntaxError("a join is not routed by brokers; subscribe with a filter", text, 0, len(text))
    form = normalise(parse(text, schema, limits), schema, limits, text)
    written = print_filter(form, schema)
    if len(written) > len(text) and not _is_readable(written, schema, limits):
        written = text  # its canonical form is too large to be read again, by the next broker for one
    return RoutedFilter(written, form)


def read_canonical(texts: Sequence[str], schema: Schema, limits: Limits = DEFAULT_LIMITS) -> list[RoutedFilter]:
    """Texts that `read_filter` has written, read again: many at once, each shape of them parsed once.

    `FilterError` if one is none. A text of other making is read too, but not brought into normal form.
    """
    if len(texts) < _MANY:
        return [read_filter(text, schema, limits) for text in texts]
    bound = bind(texts, schema, limits)
    if bound.errors:
        raise bound.errors[0][1]
    forms: list[tuple[Conjunct, ...]] = [()] * len(texts)
    for block in bound.blocks:
        for row, values in zip(block.rows.tolist(), literals_of(block.columns, len(block.rows)), strict=True):
            forms[row] = tuple(fill_conjunct(conjunct, values) for conjunct in block.template.conjuncts)
    for block in bound.terms:
        ((*literals,),) = block.template.conjuncts
        for row, values in zip(block.rows.tolist(), literals_of(block.columns, len(block.rows)), strict=True):
            forms[row] = ((*(forms[row][0] if forms[row] else ()), *fill_conjunct(tuple(literals), values)),)
    return [RoutedFilter(text, Filter(_ordered(form))) for text, form in zip(texts, forms, strict=True)]


def _ordered(conjuncts: Iterable[Conjunct]) -> tuple[Conjunct, ...]:
    sorted_ones = {tuple(sorted(set(conjunct), key=sort_key)) for conjunct in conjuncts}
    return tuple(sorted(sorted_ones, key=lambda conjunct: [sort_key(literal) for literal in conjunct]))


def _is_readable(text: str, schema: Schema, limits: Limits) -> bool:
    try:
        parse(text, schema, limits)
    except FilterError:
        return False
    return True
