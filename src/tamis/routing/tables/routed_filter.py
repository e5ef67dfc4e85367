"""A filter as brokers know it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from tamis.errors import FilterError, FilterSyntaxError
from tamis.language import DEFAULT_LIMITS, Filter, Limits, normalise, parse, print_filter
from tamis.language.joins import are_joins
from tamis.schema import Schema


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


def _is_readable(text: str, schema: Schema, limits: Limits) -> bool:
    try:
        parse(text, schema, limits)
    except FilterError:
        return False
    return True
