"""Filters as text beside their meaning, computed without the parser: meanings, conditions drawn at random, and the
oracle's reference matches.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa
from hypothesis import strategies as st

from tamis.errors import FilterError
from tamis.language import parse
from tamis.language.tree import Tree
from tamis.matching.conditions import event_values
from tamis.matching.naive import holds
from tamis.schema import Attribute, Domain, EnumeratedDomain, HierarchicalDomain, Schema
from tamis.testing.edge_values import (
    BEYOND_INTEGERS,
    LIKE_PATTERNS,
    REGULAR_EXPRESSIONS,
    finite_floats,
    integers,
    strings,
    timestamps,
)

Values: TypeAlias = Mapping[str, Sequence[Any]]  # attribute → its values in one event; absent: missing or empty
Meaning: TypeAlias = Callable[[Values, bool], bool]  # of an event's values, and whether the filter is negated


@dataclass(frozen=True)
class Written:
    """Filter text and its `meaning(values, negated)`: True if the text, or its negation, holds for these values."""

    text: str
    meaning: Meaning

    def __repr__(self) -> str:
        return f"Written({self.text!r})"


@dataclass(frozen=True)
class Constant:
    """Literal: its text, and its exact value (timestamps in microseconds)."""

    text: str
    value: Any


def some(attribute: str, test: Callable[[Any], bool]) -> Meaning:
    """Meaning: some value passes the test; negated: there is a value, and none passes."""

    def meaning(values: Values, negated: bool) -> bool:
        here = values.get(attribute, ())
        found = any(test(value) for value in here)
        return bool(here) and not found if negated else found

    return meaning


def some_pair(left: str, right: str, test: Callable[[Any, Any], bool]) -> Meaning:
    """Meaning: some pair of values passes the test; negated: there is a pair, and none passes."""

    def meaning(values: Values, negated: bool) -> bool:
        pairs = [(a, b) for a in values.get(left, ()) for b in values.get(right, ())]
        found = any(test(a, b) for a, b in pairs)
        return bool(pairs) and not found if negated else found

    return meaning


def absent(attribute: str) -> Meaning:
    """Meaning: there is no value; negated: there is one."""
    return lambda values, negated: bool(values.get(attribute)) == negated


def constant(value: bool) -> Meaning:
    """Meaning: always or never, whatever the event."""
    return lambda _, negated: value != negated


def negation(meaning: Meaning) -> Meaning:
    """Meaning of the negation, down to the comparisons."""
    return lambda values, negated: meaning(values, not negated)


def conjunction(meanings: Sequence[Meaning]) -> Meaning:
    """Meaning of AND: all hold; negated: the negation of one holds."""
    return lambda values, negated: (any if negated else all)(meaning(values, negated) for meaning in meanings)


def disjunction(meanings: Sequence[Meaning]) -> Meaning:
    """Meaning of OR: one holds; negated: the negations of all hold."""
    return lambda values, negated: (all if negated else any)(meaning(values, negated) for meaning in meanings)


def like(parts: Sequence[str], value: str) -> bool:
    """True if the parts of a LIKE pattern (`%`, `_`, or a character, wildcards among them after a backslash) fit."""
    ends = {0}  # how much of the value the parts so far may have taken
    for part in parts:
        if part == "%":
            ends = set(range(min(ends), len(value) + 1)) if ends else ends
        else:
            ends = {end + 1 for end in ends if end < len(value) and (part == "_" or value[end] == part[-1])}
    return len(value) in ends


def found_in(pattern: str, value: str) -> bool:
    """True if a regular expression of the subset on which RE2 and Python agree is found in the value."""
    return _python_expression(pattern).search(value) is not None


@lru_cache(maxsize=1000)
def _python_expression(pattern: str) -> re.Pattern[str]:
    # To RE2 a dollar is the end of the text; to Python it is also before a last line feed.
    return re.compile(pattern.replace("$", r"\Z"), re.ASCII)


# Reference matches: the oracle's answers, to hold any matcher to.


def reference_matches(
    subscriptions: Mapping[str, str], schema: Schema, events: Sequence[Mapping[str, Any]] | pa.RecordBatch | pa.Table
) -> list[list[str]]:
    """Reference matches: for each event the sorted ids of the subscriptions it matches, each once.

    A subscription that does not parse matches nothing. Equal texts are evaluated once, so a thousand copies cost no
    more than one.
    """
    by_text: dict[str, list[str]] = {}
    for key, text in subscriptions.items():
        by_text.setdefault(text, []).append(key)
    trees: dict[str, Tree] = {}
    for text in by_text:
        try:
            trees[text] = parse(text, schema)
        except FilterError:
            continue
    return [
        sorted(key for text, tree in trees.items() if holds(tree, values, schema) for key in by_text[text])
        for values in event_values(schema.to_arrow(events), schema)
    ]


# Comparisons of every form, each with its meaning.
#
# These are functions of `draw` rather than strategies: schemas differ from example to example, and making strategies
# takes longer than drawing from them.

# Constants and names as filters write them.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN_NAMES = {"price", "bids", "title", "tags", "a", "b", "c", "x1", "old.price", "seller.rating.mean", "event_type"}


def quoted(text: str) -> str:
    """Literal of a string."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Quoted identifier of a name."""
    return '"' + name.replace('"', '""') + '"'


def draw_name(draw: st.DrawFn, attribute: Attribute) -> str:
    """Name of the attribute as a filter may write it: quoted where it must be, and sometimes where it need not."""
    if attribute.name in _PLAIN_NAMES and draw(_MOSTLY):
        return attribute.name
    return quoted_name(attribute.name)


@lru_cache(maxsize=1000)
def literals(domain: Domain) -> st.SearchStrategy[Constant]:
    """Constants that an attribute of the domain may be compared with."""
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        return st.sampled_from([_string(value) for value in domain.values])
    if domain.kind in ("integer", "float"):
        return _numbers(domain)
    if domain.kind == "timestamp":
        return st.one_of(timestamps().map(_timestamp), timestamps().map(_iso))
    return strings().map(_string) if domain.kind == "string" else _BOOLEANS


def _numbers(domain: Domain) -> st.SearchStrategy[Constant]:
    """Integer and decimal literals alike, whichever the domain holds, some beyond its range."""
    own: st.SearchStrategy[int | float] = integers() if domain.kind == "integer" else finite_floats()
    whole = st.one_of(integers(), st.sampled_from(BEYOND_INTEGERS))
    fraction = st.sampled_from((0.5, 1.5, 2.0, -0.5, 1e19, 5e-324))
    return st.one_of(own, own, whole, fraction).map(lambda value: Constant(repr(value), value))


def _string(text: str) -> Constant:
    return Constant(quoted(text), text)


def _timestamp(microseconds: int) -> Constant:
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return Constant(f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(sep=' ')}'", microseconds)


def _iso(microseconds: int) -> Constant:
    return Constant(quoted((_EPOCH + timedelta(microseconds=microseconds)).isoformat()), microseconds)


_MOSTLY = st.sampled_from((True, True, False))
_BOOLEANS = st.sampled_from((Constant("TRUE", True), Constant("FALSE", False), Constant("true", True)))


Test = Callable[[Any, Any], bool]

_COMPARE: dict[str, Test] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!=", "<>": "<>"}
_ORDERS = tuple(_COMPARE)
_EQUALITIES = ("=", "!=", "<>")


def draw_condition(draw: st.DrawFn, schema: Schema) -> Written:
    """Comparison on one attribute, or between two; now and then a constant."""
    if draw(_ONE_IN_THIRTY) == 17:  # not 0, which hypothesis comes back to all the time
        value = draw(st.booleans())
        return Written("TRUE" if value else "FALSE", constant(value))
    attribute = draw(st.sampled_from(list(schema.attributes.values())))
    forms = [_equality, _equality, _presence, _membership]
    if attribute.domain.kind == "binary":
        return _presence(draw, attribute)
    if _is_ordered(attribute):
        forms += [_range, _order, _order]
    if attribute.domain.kind == "string":
        forms += [_like, _like, _like, _ilike, _rlike]
    if attribute.domain.kind == "boolean":
        forms.append(_bare)
    others = [other for other in schema.attributes.values() if other is not attribute and comparable(attribute, other)]
    chosen = draw(st.integers(0, len(forms) - (0 if others else 1)))
    if chosen == len(forms):
        return _versus(draw, attribute, draw(st.sampled_from(others)))
    return forms[chosen](draw, attribute)


def comparable(left: Attribute, right: Attribute) -> bool:
    """True if two attributes may be compared with each other."""
    numeric = {"integer", "float"}
    return left.domain == right.domain or (left.domain.kind in numeric and right.domain.kind in numeric)


def _is_ordered(attribute: Attribute) -> bool:
    domain = attribute.domain
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        return domain.ordered
    return domain.kind != "boolean"


def _test(attribute: Attribute, sign: str) -> Test:
    """Test `a sign b` between values of the attribute's domain, for = and the orders."""
    domain = attribute.domain
    if sign == "=":
        return operator.eq
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        return lambda a, b: a in [domain.values[position] for position in domain.satisfying(sign, b)]
    return _COMPARE[sign]


def _compares(attribute: Attribute, sign: str, value: Any) -> Meaning:
    if sign in ("!=", "<>"):
        return negation(_compares(attribute, "=", value))
    test = _test(attribute, "=" if sign == "CONTAINS" else sign)
    return some(attribute.name, lambda given: test(given, value))


def _equality(draw: st.DrawFn, attribute: Attribute) -> Written:
    return _comparison(draw, attribute, draw(_EQUALITY_SIGNS))


def _order(draw: st.DrawFn, attribute: Attribute) -> Written:
    return _comparison(draw, attribute, draw(_ORDER_SIGNS))


def _comparison(draw: st.DrawFn, attribute: Attribute, sign: str) -> Written:
    name, literal = draw_name(draw, attribute), draw(literals(attribute.domain))
    if sign in _MIRRORED and draw(_ONE_IN_THREE) == 0:
        return Written(f"{literal.text} {sign} {name}", _compares(attribute, _MIRRORED[sign], literal.value))
    return Written(f"{name} {sign} {literal.text}", _compares(attribute, sign, literal.value))


def _presence(draw: st.DrawFn, attribute: Attribute) -> Written:
    name, gone = draw_name(draw, attribute), absent(attribute.name)
    if draw(st.booleans()):
        return Written(f"{name} IS NULL", gone)
    return Written(f"{name} IS NOT NULL", negation(gone))


def _bare(draw: st.DrawFn, attribute: Attribute) -> Written:
    return Written(draw_name(draw, attribute), some(attribute.name, bool))


def _membership(draw: st.DrawFn, attribute: Attribute) -> Written:
    items = [draw(literals(attribute.domain)) for _ in range(draw(_ONE_TO_FOUR))]
    listed = some(attribute.name, lambda value: any(value == item.value for item in items))
    return _maybe_not(draw, attribute, "IN", f"({', '.join(item.text for item in items)})", listed)


def _range(draw: st.DrawFn, attribute: Attribute) -> Written:
    above, below = _test(attribute, ">="), _test(attribute, "<=")
    low, high = draw(literals(attribute.domain)), draw(literals(attribute.domain))
    within = some(attribute.name, lambda value: above(value, low.value) and below(value, high.value))
    return _maybe_not(draw, attribute, "BETWEEN", f"{low.text} AND {high.text}", within)


def _like(draw: st.DrawFn, attribute: Attribute) -> Written:
    parts = draw(_LIKE_PARTS)
    return _maybe_not(draw, attribute, "LIKE", _pattern(draw, parts), some(attribute.name, lambda v: like(parts, v)))


def _ilike(draw: st.DrawFn, attribute: Attribute) -> Written:
    parts = draw(_LIKE_PARTS)
    lowered = [part.lower() for part in parts]
    fits = some(attribute.name, lambda value: like(lowered, value.lower()))
    return _maybe_not(draw, attribute, "ILIKE", _pattern(draw, parts), fits)


def _pattern(draw: st.DrawFn, parts: list[str]) -> str:
    escape = draw(_ESCAPES)
    pattern = quoted("".join(_escaped(part, escape) for part in parts))
    return pattern if escape == "\\" else f"{pattern} ESCAPE {quoted(escape)}"


def _escaped(part: str, escape: str) -> str:
    """Part of a pattern, written with this escape: wildcards stay, and so do characters that are no wildcards."""
    if part in ("%", "_"):
        return part
    character = part[-1]
    return escape + character if character in ("%", "_", escape) else character


def _rlike(draw: st.DrawFn, attribute: Attribute) -> Written:
    pattern = draw(_EXPRESSIONS)
    found = some(attribute.name, lambda value: found_in(pattern, value))
    return _maybe_not(draw, attribute, "RLIKE", quoted(pattern), found)


def _maybe_not(draw: st.DrawFn, attribute: Attribute, word: str, rest: str, meaning: Meaning) -> Written:
    name = draw_name(draw, attribute)
    if draw(_ONE_IN_THREE) == 0:
        return Written(f"{name} NOT {word} {rest}", negation(meaning))
    return Written(f"{name} {word} {rest}", meaning)


def _versus(draw: st.DrawFn, left: Attribute, right: Attribute) -> Written:
    sign = draw(st.sampled_from(_EQUALITIES + _ORDERS if _is_ordered(left) else _EQUALITIES))
    compares = some_pair(left.name, right.name, _test(left, "=" if sign in _EQUALITIES else sign))
    text = f"{draw_name(draw, left)} {sign} {draw_name(draw, right)}"
    return Written(text, negation(compares) if sign in ("!=", "<>") else compares)


_ONE_IN_THIRTY = st.integers(0, 29)
_ONE_IN_THREE = st.integers(0, 2)
_ONE_TO_FOUR = st.integers(1, 4)
_EQUALITY_SIGNS = st.sampled_from((*_EQUALITIES, "=", "CONTAINS"))
_ORDER_SIGNS = st.sampled_from(_ORDERS)
_EXPRESSIONS = st.sampled_from(REGULAR_EXPRESSIONS)
_ESCAPES = st.sampled_from(("\\", "\\", "\\", "!", "'"))
_PARTS = st.sampled_from(("a", "b", "c", "%", "%", "_", "\\%", "\\_", "\\\\", "é", "É", "'", "!", "A"))
_KNOWN_PARTS = st.sampled_from([re.findall(r"\\.|.", pattern, re.DOTALL) for pattern in LIKE_PATTERNS])
_LIKE_PARTS = st.one_of(_KNOWN_PARTS, st.lists(_PARTS, max_size=5))
