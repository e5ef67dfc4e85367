"""Tests of fields in Sigma rules, and their translation to conditions on an attribute, by its domain.

Sigma's values have no types: `EventID: 4624` and `EventID: '4624'` ask the same. A value is compared as what the
attribute is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from tamis.dialects.conversion import ConversionError, attribute_of, compared, one_of
from tamis.language import Tree
from tamis.language.patterns import Wildcard, like_matches, regex_literal, rlike_matches, write_like
from tamis.language.predicates import Like, RLike, Versus, equals
from tamis.language.tree import And, Negation, Or
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain, Schema

# Tests of a field, before it is known which domain the field's attribute has.

L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class Match:
    """Test that the whole value matches; case-insensitive unless `cased`."""

    parts: tuple[str | Wildcard, ...]
    cased: bool

    @property
    def literal(self) -> str | None:
        """Text of the pattern, if it has no wildcard."""
        texts = [part for part in self.parts if isinstance(part, str)]
        return "".join(texts) if len(texts) == len(self.parts) else None


@dataclass(frozen=True, slots=True)
class Regex:
    """Test that a regular expression is found somewhere in the value."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Equal:
    """Test that the value is this number or truth value, or a text that spells it."""

    value: int | float | bool

    @property
    def text(self) -> str:
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


@dataclass(frozen=True, slots=True)
class Compare:
    """Comparison with a number: <, <=, > or >=."""

    operator: str
    number: int | float


@dataclass(frozen=True, slots=True)
class Given:
    """Test that the field has a value (`exists: true`), or has none (`exists: false`, `null`)."""

    wanted: bool


@dataclass(frozen=True, slots=True)
class SameAs:
    """Test that the value is that of another field."""

    field: str


@dataclass(frozen=True, slots=True)
class Network:
    """Test that one of these regular expressions matches an IP address."""

    patterns: tuple[str, ...]


Test: TypeAlias = Match | Regex | Equal | Compare | Given | SameAs | Network


@dataclass(frozen=True, slots=True)
class Asked:
    """Test of a field, with its `place` in the rule."""

    field: str
    test: Test


Node: TypeAlias = "And[Node[L]] | Or[Node[L]] | Negation[Node[L]] | L"


_NUMERIC = ("integer", "float")
_PLAIN_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d{1,2})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Leaf:
    """Condition that holds only where all its attributes have values; FALSE where no value of them meets it.

    `regex` is set where the same can be said by that regular expression, case ignored; `pattern` where it is a match of
    one value by that pattern, case ignored.
    """

    attributes: tuple[str, ...]
    condition: Tree
    regex: str | None = None
    pattern: tuple[str | Wildcard, ...] | None = None


@dataclass(frozen=True, slots=True)
class Presence:
    """Condition that the attribute has a value, or has none."""

    attribute: str
    wanted: bool


Condition = Leaf | Presence


def leaves(asked: Asked, schema: Schema) -> Node[Condition]:
    """Conditions of the test, as a tree."""
    attribute = attribute_of(asked.field, schema, asked.field)
    match asked.test:
        case Given(wanted):
            return Presence(attribute.name, wanted)
        case SameAs(field):
            return _same(attribute, attribute_of(field, schema, asked.field), asked)
        case Compare(operator, value):
            if attribute.domain.kind not in _NUMERIC:
                raise _unfit(attribute, "a number")
            return _leaf(attribute, compared(attribute.name, operator, value))
    if isinstance(attribute.domain, EnumeratedDomain | HierarchicalDomain):
        holds = _tried(asked.test)
        return _leaf(attribute, one_of(attribute.name, (value for value in attribute.domain.values if holds(value))))
    if attribute.domain.kind == "string":
        return _on_text(attribute, asked.test)
    return _on_value(attribute, asked.test)


def _on_text(attribute: Attribute, test: Test) -> Node[Condition]:
    match test:
        case Equal():
            return _on_text(attribute, Match((test.text,), False))
        case Match(parts, cased):
            literal = test.literal
            one = (
                None if attribute.multiple else tuple(part.lower() if isinstance(part, str) else part for part in parts)
            )
            if literal is not None and (cased or literal.lower() == literal.upper()):
                return Leaf((attribute.name,), equals(attribute.name, literal), None, one)
            like = Like(attribute.name, _like_pattern(parts), ignore_case=not cased)
            return Leaf((attribute.name,), like, None if cased else _regex(parts), one)
        case Regex(pattern):
            return _leaf(attribute, RLike(attribute.name, pattern))
        case Network(patterns):
            found = tuple(_leaf(attribute, RLike(attribute.name, pattern)) for pattern in patterns)
            return found[0] if len(found) == 1 else Or(found)
    raise AssertionError(test)


def _on_value(attribute: Attribute, test: Test) -> Node[Condition]:
    """Conditions on numbers and booleans, which a rule may write as texts."""
    kind = attribute.domain.kind
    match test:
        case Equal(bool(value)) if kind == "boolean":
            return _leaf(attribute, equals(attribute.name, value))
        case Equal(int() | float() as value) if kind in _NUMERIC and not isinstance(value, bool):
            return _leaf(attribute, equals(attribute.name, value))
        case Match(parts) if parts and all(part is Wildcard.ANY for part in parts):
            return Presence(attribute.name, True)
        case Match() if (literal := test.literal) is not None:
            if kind == "boolean" and literal.lower() in ("true", "false"):
                return _leaf(attribute, equals(attribute.name, literal.lower() == "true"))
            if kind in _NUMERIC and (read := _number(literal)) is not None:
                return _leaf(attribute, equals(attribute.name, read))
    raise _unfit(attribute, "a text")


def _same(attribute: Attribute, other: Attribute, asked: Asked) -> Leaf:
    numeric = attribute.domain.kind in _NUMERIC and other.domain.kind in _NUMERIC
    if attribute.domain != other.domain and not numeric:
        reason = f"{attribute.name} is {attribute.domain.kind} and {other.name} is {other.domain.kind} in the schema"
        raise ConversionError(reason, asked.field, "give both the same domain")
    return Leaf((attribute.name, other.name), Versus(attribute.name, "=", other.name))


def _tried(test: Test) -> Callable[[str], bool]:
    """Predicate on one value, for domains whose values are listed."""
    match test:
        case Equal():
            spelled = test.text.lower()
            return lambda text: text.lower() == spelled
        case Match(parts, cased):
            pattern = _like_pattern(parts)
            return lambda text: like_matches(pattern, not cased, text)
        case Regex(pattern):
            return lambda text: rlike_matches(pattern, text)
        case Network(patterns):
            return lambda text: any(rlike_matches(pattern, text) for pattern in patterns)
    raise AssertionError(test)


def _like_pattern(parts: tuple[str | Wildcard, ...]) -> str:
    return write_like([piece for part in parts for piece in ([part] if isinstance(part, Wildcard) else part)])


def _regex(parts: tuple[str | Wildcard, ...]) -> str | None:
    """Regular expression for a pattern, found anywhere; None outside ASCII, where cases differ."""
    if not all(isinstance(part, Wildcard) or part.isascii() for part in parts):
        return None
    inner = list(parts)
    starts = not inner or inner[0] is not Wildcard.ANY
    ends = not inner or inner[-1] is not Wildcard.ANY
    while inner and inner[0] is Wildcard.ANY:
        inner.pop(0)
    while inner and inner[-1] is Wildcard.ANY:
        inner.pop()
    wildcards = {Wildcard.ANY: ".*", Wildcard.ONE: "."}
    body = "".join(wildcards[part] if isinstance(part, Wildcard) else regex_literal(part) for part in inner)
    return f"{'^' if starts else ''}{body}{'$' if ends else ''}"


def _leaf(attribute: Attribute, condition: Tree) -> Leaf:
    return Leaf((attribute.name,), condition)


def _number(text: str) -> int | float | None:
    """Number as events would have it; Python's own reading takes more, `1_000` and `inf` among it."""
    if not _PLAIN_NUMBER.fullmatch(text):
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text) + 0.0


def _unfit(attribute: Attribute, asked: str) -> ConversionError:
    reason = f"the rule asks for {asked} and {attribute.name} is {attribute.domain.kind} in the schema"
    return ConversionError(reason, attribute.name, "an attribute has one domain: declare it as what events hold")
