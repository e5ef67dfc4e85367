"""Filters of CloudEvents' Subscriptions API (exact, prefix, suffix, all, any, not, sql): parsing, evaluation on events,
conversion to Tamis's filters.

A list of filters holds for an event if each of them does. They look at the context attributes only, never at the data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias

from tamis.dialects import cesql
from tamis.dialects.cesql.conditions import UNKNOWN, Formula, LeafCondition, Names, implied, translate
from tamis.dialects.cesql.evaluation import REQUIRED
from tamis.dialects.cesql.functions import FUNCTIONS, find_function, from_attribute, to_string
from tamis.dialects.cesql.syntax import Call, walk
from tamis.errors import FilterError
from tamis.language import DEFAULT_LIMITS, Limits, normalise, parse, print_filter
from tamis.language.patterns import Wildcard, write_like
from tamis.language.predicates import Leaf, Like, Present, equals
from tamis.language.tree import And, Negation, Or, all_of, any_of
from tamis.schema import Schema

PREFIX: Final = "ce."
"""What context attributes are called by in Tamis filters: `type` is `ce.type`."""

MOST_FILTERS: Final = 500
DEEPEST: Final = 20
LONGEST_VALUE: Final = 2_000

_DIALECTS: Final = ("exact", "prefix", "suffix", "all", "any", "not", "sql")
_NAME: Final = re.compile(r"[a-z0-9]+", re.ASCII)
# Characters that no attribute of a CloudEvent can have: control characters, surrogates and noncharacters.
_NO_STRING: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_NO_TEXT: Final = re.compile("[\x00\ud800-\udfff]")

Comparing: TypeAlias = Literal["exact", "prefix", "suffix"]


class CloudEventsFilterError(FilterError):
    """Filter that cannot be accepted. `place` is its path; `text[start:end]` the part at fault of an expression."""

    def __init__(self, message: str, place: str = "", text: str = "", start: int = 0, end: int = 0) -> None:
        super().__init__(message, text, start, end)
        self.args = (message, place, text, start, end)
        self.place = place

    def __str__(self) -> str:
        return f"{self.place}: {super().__str__()}" if self.place else super().__str__()


@dataclass(frozen=True, slots=True)
class Compared:
    """Filter exact, prefix or suffix: one attribute's value, as text, is the value given, or starts or ends with it."""

    how: Comparing
    attribute: str
    value: str

    def holds(self, context: Mapping[str, object]) -> bool:
        found = context.get(self.attribute)
        if found is None:
            return False
        text = to_string(from_attribute(found))
        match self.how:
            case "exact":
                return text == self.value
            case "prefix":
                return text.startswith(self.value)
            case "suffix":
                return text.endswith(self.value)


@dataclass(frozen=True, slots=True)
class Expression:
    """Filter `sql`: a CESQL expression is true, without an error in evaluating it."""

    node: cesql.Node

    def holds(self, context: Mapping[str, object]) -> bool:
        return cesql.holds(self.node, context)


One: TypeAlias = "Compared | Expression | And[One] | Or[One] | Negation[One]"
"""The dialects `all`, `any` and `not` are And, Or and Negation."""


def _holds(one: One, context: Mapping[str, object]) -> bool:
    match one:
        case And(filters):
            return all(_holds(inner, context) for inner in filters)
        case Or(filters):
            return any(_holds(inner, context) for inner in filters)
        case Negation(inner):
            return not _holds(inner, context)
    return one.holds(context)


@dataclass(frozen=True, slots=True)
class CloudEventsFilters:
    """Validated list of filters. `form` is the list as it was given, plain JSON."""

    form: tuple[Mapping[str, Any], ...]
    filter: And[One]

    @classmethod
    def parse(cls, filters: Sequence[object], place: str = "filters") -> CloudEventsFilters:
        """Parses a list of filters; `CloudEventsFilterError`, with the place, if one of them is none."""
        reader = _Reader()
        found = reader.listed(filters, place, 0)
        return cls(tuple(dict(one) for one in filters if isinstance(one, Mapping)), And(found))

    @classmethod
    def from_json(cls, text: str) -> CloudEventsFilters:
        """Filters from the form that `to_json` writes."""
        return cls.parse(json.loads(text))

    def to_json(self) -> str:
        """Compact JSON of the list, in ASCII."""
        return json.dumps(self.form, separators=(",", ":"))

    def holds(self, context: Mapping[str, object]) -> bool:
        """True if every filter holds for an event with these context attributes, the four required ones included."""
        return _holds(self.filter, context)

    def to_tamis(self, schema: Schema, limits: Limits = DEFAULT_LIMITS) -> tuple[str, bool]:
        """Tamis filter that every matching event satisfies, and True if no other event does.

        Only CloudEvents satisfy it, which are known by their `ce.type`. The schema has the core attributes as `ce.…`;
        extensions, which it does not have, stay out of the filter.
        """
        tree, exact = implied(_formula(self.filter, _names(schema)))
        guard = Present(PREFIX + "type")
        try:
            text = print_filter(normalise(And((guard, tree)), schema, limits), schema)
            parse(text, schema, limits)
        except FilterError:
            # Larger than the limits, in its normal form or in one of its patterns.
            return print_filter(normalise(guard, schema), schema), False
        return text, exact


def read_filters(filters: Sequence[object]) -> CloudEventsFilters:
    """Parses a list of filters, as `CloudEventsFilters.parse` does."""
    return CloudEventsFilters.parse(filters)


class _Reader:
    """Parser of one list of filters, which counts them."""

    def __init__(self) -> None:
        self.count = 0

    def listed(self, filters: object, place: str, depth: int) -> tuple[One, ...]:
        if not isinstance(filters, Sequence) or isinstance(filters, str):
            raise CloudEventsFilterError("a list of filters is expected here", place)
        return tuple(self.one(each, f"{place}[{index}]", depth) for index, each in enumerate(filters))

    def one(self, given: object, place: str, depth: int) -> One:
        self.count += 1
        if self.count > MOST_FILTERS:
            raise CloudEventsFilterError(
                f"there are more than {MOST_FILTERS} filters; make several subscriptions", place
            )
        if depth > DEEPEST:
            raise CloudEventsFilterError(f"filters are nested more than {DEEPEST} levels deep", place)
        if not isinstance(given, Mapping) or len(given) != 1:
            message = 'a filter is an object with one member, its dialect: {"exact": {"type": "com.example.sold"}}'
            raise CloudEventsFilterError(message, place)
        dialect, argument = next(iter(given.items()))
        inside = f"{place}.{dialect:.50}"
        match dialect:
            case "exact" | "prefix" | "suffix":
                return self.compared(dialect, argument, inside)
            case "all" | "any":
                found = self.listed(argument, inside, depth + 1)
                if not found:
                    raise CloudEventsFilterError("at least one filter is expected here", inside)
                return And(found) if dialect == "all" else Or(found)
            case "not":
                return Negation(self.one(argument, inside, depth + 1))
            case "sql":
                return self.expression(argument, inside)
        close = get_close_matches(str(dialect), _DIALECTS, 1)
        remedy = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(_DIALECTS)}"
        raise CloudEventsFilterError(f"there is no filter dialect {dialect!r:.50}; {remedy}", place)

    def compared(self, how: Comparing, given: object, place: str) -> One:
        if not isinstance(given, Mapping) or not given:
            message = 'an object of attributes and values is expected here: {"type": "com.example.sold"}'
            raise CloudEventsFilterError(message, place)
        self.count += len(given) - 1
        found = []
        for name, value in given.items():
            if not isinstance(name, str) or _NAME.fullmatch(name) is None or name == "data":
                message = f"{name!r:.50} is no attribute's name: those have lower-case letters and digits only"
                raise CloudEventsFilterError(message, place)
            inside = f"{place}.{name:.50}"
            if not isinstance(value, str) or not value:
                raise CloudEventsFilterError("a string that is not empty is expected here", inside)
            if _NO_STRING.search(value) is not None:
                message = "no attribute has control characters, surrogates or noncharacters; take them out"
                raise CloudEventsFilterError(message, inside)
            if len(value) > LONGEST_VALUE:
                raise CloudEventsFilterError(f"a value has at most {LONGEST_VALUE} characters; shorten it", inside)
            found.append(Compared(how, name, value))
        return found[0] if len(found) == 1 else And(tuple(found))

    def expression(self, text: object, place: str) -> Expression:
        if not isinstance(text, str):
            raise CloudEventsFilterError("a CESQL expression in a string is expected here", place)
        if (foreign := _NO_TEXT.search(text)) is not None:
            message = "an expression has no NUL and no unpaired surrogates; take it out"
            raise CloudEventsFilterError(message, place, text, foreign.start(), foreign.end())
        try:
            node = cesql.parse(text)
        except FilterError as error:
            raise CloudEventsFilterError(error.message, place, text, error.start, error.end) from None
        for part in walk(node):
            if isinstance(part, Call) and find_function(part.name, len(part.arguments)) is None:
                message = _no_function(part.name, len(part.arguments))
                raise CloudEventsFilterError(message, place, text, part.start, part.end)
        return Expression(node)


def _no_function(name: str, count: int) -> str:
    if name in FUNCTIONS:
        return f"{name} does not take {count} argument{'s' * (count != 1)}"
    close = get_close_matches(name, FUNCTIONS, 1)
    return f"there is no function {name:.50}" + (f"; did you mean {close[0]}?" if close else "")


def _names(schema: Schema) -> Names:
    def present(name: str) -> str | None:
        return PREFIX + name if PREFIX + name in schema.attributes else None

    def string(name: str) -> str | None:
        attribute = schema.attributes.get(PREFIX + name)
        # An attribute with several values would be compared by some of them.
        return attribute.name if attribute and attribute.domain.kind == "string" and not attribute.multiple else None

    return Names(string, present)


def _formula(filter: One, names: Names) -> Formula:
    match filter:
        case And(filters):
            return all_of(_formula(one, names) for one in filters)
        case Or(filters):
            return any_of(_formula(one, names) for one in filters)
        case Negation(inner):
            return Negation(_formula(inner, names))
        case Expression(node):
            return translate(node, names)
        case Compared(how, name, value):
            required, attribute = name in REQUIRED, names.string(name)
            if attribute is not None:
                return LeafCondition(_leaf(how, attribute, value), required)
            there = names.present(name)
            return UNKNOWN if there is None else all_of([LeafCondition(Present(there), required), UNKNOWN])


def _leaf(how: Comparing, attribute: str, value: str) -> Leaf:
    match how:
        case "exact":
            return equals(attribute, value)
        case "prefix":
            return Like(attribute, write_like([*value, Wildcard.ANY]))
        case "suffix":
            return Like(attribute, write_like([Wildcard.ANY, *value]))
