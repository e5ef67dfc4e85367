"""Filters as strangers write them: checked under the serving schema, or refused with the place and the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from tamis.errors import FilterError
from tamis.language import Limits, normalise, parse, print_filter
from tamis.language.dialect import FilterDialect
from tamis.schema import Schema
from tamis.service.api.problems import Fault, Problem, of_filter
from tamis.service.api.service import Service
from tamis.service.store import Kind

_QUERY: Final = re.compile(r"\s*\(*\s*(SELECT|WITH)\b", re.IGNORECASE)
_NOT_SERVED: Final[Mapping[Kind, str]] = {
    "join": "this is a join (SELECT ...), and this server does not serve joins yet; write a filter over one event",
    "operator": "this calls a function or operator, and this server does not serve operators yet; compare attributes "
    "with values",
}


def canonical_text(service: Service, text: str, field: str = "filter") -> str:
    """The filter in canonical form; a 422 `Problem` with its place if it is none, or of a kind not served.

    Whatever comes back is within the limits: a text whose canonical form is too large to be read again stays as it is.
    """
    schema, limits = service.schema, service.limits.filter
    if (query := _QUERY.match(text)) is not None:
        raise not_served("join", query.start(1), query.end(1), field)
    try:
        written = print_filter(normalise(parse(text, schema, limits), schema, limits, text), schema)
    except FilterError as error:
        if (call := _operator_call(text)) is not None:
            raise not_served("operator", *call, field) from None
        raise of_filter(error, field) from None
    return written if len(written) <= len(text) or _is_readable(written, schema, limits) else text


def _is_readable(text: str, schema: Schema, limits: Limits) -> bool:
    try:
        parse(text, schema, limits)
    except FilterError:
        return False
    return True


def not_served(kind: Kind, start: int | None, end: int | None, field: str) -> Problem:
    """A subscription of a kind that has its place in the API, but nothing behind it yet."""
    message = _NOT_SERVED[kind]
    return Problem(422, "not-served", message, [Fault(message=message, start=start, end=end, field=field)])


def _operator_call(text: str) -> tuple[int, int] | None:
    """Where the text calls an operator that takes variables, as in `near(?place, 5)`; None if it does not."""
    try:
        tokens = FilterDialect().tokenize(text)
    except SqlglotError:
        return None
    variables = [token for token in tokens if token.token_type == TokenType.PLACEHOLDER]
    for name, opening in pairwise(tokens):
        is_call = name.token_type == TokenType.VAR and opening.token_type == TokenType.L_PAREN
        if is_call and name.text.upper() not in ("CAST", "EXISTS", "ANY", "ALL", "SOME"):
            return name.start, name.end + 1
    return (variables[0].start, variables[0].end + 1) if variables else None
