"""Filters as strangers write them: checked under the serving schema, or refused with the place and the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tamis.errors import FilterError
from tamis.language import NO_OPERATORS, CalledFilter, Limits, Signatures, normal_form, parse, print_filter
from tamis.schema import Schema
from tamis.service.api.problems import Fault, Problem, of_filter
from tamis.service.api.service import Service
from tamis.service.store import Kind

_QUERY: Final = re.compile(r"\s*\(*\s*(SELECT|WITH)\b", re.IGNORECASE)
_JOIN: Final = "this is a join (SELECT ...), and this server does not serve joins yet; write a filter over one event"


@dataclass(frozen=True, slots=True)
class ReadFilter:
    """A filter that can be taken: `text` as it was written, its `canonical` form, and of which `kind` it is.

    `matched` is what the index gets. That is the canonical form, but for filters that call operators the text: there
    the canonical form has names of its own for the variables, and notifications show those of the text.
    """

    text: str
    canonical: str
    kind: Kind

    @property
    def matched(self) -> str:
        return self.text if self.kind == "operator" else self.canonical


def read_filter(service: Service, text: str, field: str = "filter") -> ReadFilter:
    """The filter, which may call the operators that are offered; a 422 `Problem` with its place if it is none."""
    schema = service.schema
    return _read(text, schema, service.limits.filter, service.offering.signatures(schema), field)


def canonical_text(service: Service, text: str, field: str = "filter") -> str:
    """The canonical form of a filter that calls nothing; a 422 `Problem` with its place if it is none."""
    return _read(text, service.schema, service.limits.filter, NO_OPERATORS, field).canonical


def _read(text: str, schema: Schema, limits: Limits, operators: Signatures, field: str) -> ReadFilter:
    """Whatever comes back is within the limits: a text whose canonical form is too large to be read again stays."""
    if (query := _QUERY.match(text)) is not None:
        raise not_served(query.start(1), query.end(1), field)
    try:
        form = normal_form(parse(text, schema, limits, operators), schema, limits, text)
        written = print_filter(form, schema)
        if len(written) > len(text) and not _is_readable(written, schema, limits, operators):
            written = text
    except FilterError as error:
        raise of_filter(error, field) from None
    return ReadFilter(text, written, "operator" if isinstance(form, CalledFilter) else "filter")


def _is_readable(text: str, schema: Schema, limits: Limits, operators: Signatures) -> bool:
    try:
        parse(text, schema, limits, operators)
    except FilterError:
        return False
    return True


def not_served(start: int | None, end: int | None, field: str) -> Problem:
    """A join, which has its place in the API, but nothing behind it yet."""
    return Problem(422, "not-served", _JOIN, [Fault(message=_JOIN, start=start, end=end, field=field)])
