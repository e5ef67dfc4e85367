"""Filters written by users: contexts that parse them (service, examiner), canonical form and kind, or a refusal with
its position and reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import pyarrow as pa

from tamis.errors import FilterError, FilterTooComplex
from tamis.language import NO_OPERATORS, CalledFilter, Filter, Limits, Signatures, normal_form_of, parse, print_filter
from tamis.language.joins import are_joins, parse_join, print_join
from tamis.schema import Schema
from tamis.service.base.configuration import LimitSettings, Settings
from tamis.service.base.offering import Offering
from tamis.service.intake.problems import Fault, Problem, of_filter
from tamis.service.store import Kind, Store

# Context in which a filter is parsed: schema, limits, operators and tables, in any process.


class Reads(Protocol):
    """Protocol of a context that parses filters: a service, or an examiner's bench."""

    @property
    def limits(self) -> LimitSettings: ...
    @property
    def offering(self) -> Offering: ...
    @property
    def schema(self) -> Schema: ...


class Shows(Reads, Protocol):
    """Protocol of a context that shows joins: its store has their tables."""

    @property
    def store(self) -> Store: ...


@dataclass(slots=True)
class Bench:
    """Context of an examiner: the schema of the last question, operators loaded once, and a store opened on demand.

    `learned` are the costs and selectivities that matching has found of operators, by name. `loading` is called before
    something is loaded that is loaded only once, and `begun` after it, with the seconds that the answer may take from
    then on; None: what was left.
    """

    settings: Settings
    offering: Offering
    schema: Schema
    ignores_unknown: bool = True
    learned: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    loading: Callable[[], None] = lambda: None
    begun: Callable[[float | None], None] = lambda seconds: None
    columnar: bool = False
    """Whether the kernels of the columnar matcher are loaded."""
    _store: Store | None = None

    @property
    def limits(self) -> LimitSettings:
        return self.settings.limits

    @property
    def store(self) -> Store:
        """Store, opened when a join is first looked at."""
        if self._store is None:
            self._store = Store.open(self.settings.store, self.settings.matches)
        return self._store


_QUERY: Final = re.compile(r"\s*\(*\s*(SELECT|WITH)\b", re.IGNORECASE)
_NO_TABLES: Final = "this is a join (SELECT ...), and the schema has no tables to join; write a filter over one event"
_NO_JOIN: Final = "this is a query; a join is SELECT ... FROM a JOIN b USING (x) WHERE ..., without WITH or parentheses"
_NOT_HERE: Final = "this is a join (SELECT ...); a filter over one event belongs here"


@dataclass(frozen=True, slots=True)
class ReadFilter:
    """Accepted filter or join: `text` as written, its `canonical` form, and its `kind`.

    `matched` is what the index gets. That is the canonical form, but for filters that call operators the text: there
    the canonical form has names of its own for the variables, and notifications show those of the text.
    `form` is the normal form under `schema` of a filter that was just read and calls nothing.
    """

    text: str
    canonical: str
    kind: Kind
    form: Filter | None = None
    schema: Schema | None = None

    @property
    def matched(self) -> str:
        return self.text if self.kind == "operator" else self.canonical


def read_filter(service: Reads, text: str, field: str = "filter") -> ReadFilter:
    """Parses a filter, which may call the offered operators, or a join; a 422 `Problem` with its position if it is
    neither.
    """
    schema = service.schema
    if schema.tables and are_joins(pa.array([text]))[0]:
        return _read_join(text, schema, service.limits.filter, field)
    return _read(text, schema, service.limits.filter, service.offering.signatures(schema), field)


def canonical_text(service: Reads, text: str, field: str = "filter") -> str:
    """Canonical form of a filter without calls; a 422 `Problem` with its position if it is not one."""
    if service.schema.tables and are_joins(pa.array([text]))[0]:
        raise _refused(_NOT_HERE, text, field)
    return _read(text, service.schema, service.limits.filter, NO_OPERATORS, field).canonical


def _read_join(text: str, schema: Schema, limits: Limits, field: str) -> ReadFilter:
    try:
        written = print_join(parse_join(text, schema, limits), schema)
    except FilterError as error:
        raise of_filter(error, field) from None
    try:
        parse_join(written, schema, limits)
    except FilterTooComplex:
        written = text
    return ReadFilter(text, written, "join")


def _read(text: str, schema: Schema, limits: Limits, operators: Signatures, field: str) -> ReadFilter:
    """Parses a text; a text whose canonical form exceeds the limits stays as it was written."""
    if _QUERY.match(text) is not None:
        raise _refused(_NO_JOIN if schema.tables else _NO_TABLES, text, field)
    try:
        form = normal_form_of(text, schema, limits, operators)
        written = print_filter(form, schema)
        sure = len(written) <= len(text) or (isinstance(form, Filter) and limits.admit(written))
        if not sure and not _is_readable(written, schema, limits, operators):
            written = text
    except FilterError as error:
        raise of_filter(error, field) from None
    if isinstance(form, CalledFilter):
        return ReadFilter(text, written, "operator")
    return ReadFilter(text, written, "filter", form, schema)


def _is_readable(text: str, schema: Schema, limits: Limits, operators: Signatures) -> bool:
    try:
        parse(text, schema, limits, operators)
    except FilterError:
        return False
    return True


def _refused(message: str, text: str, field: str) -> Problem:
    """Refusal of a query where none is allowed."""
    query = _QUERY.match(text)
    start, end = (None, None) if query is None else query.span(1)
    return Problem(422, "filter", message, [Fault(message=message, start=start, end=end, field=field)])
