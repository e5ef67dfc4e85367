"""Lexer, parser and syntax tree of JMS message selectors (JMS 2.0 §3.8.1.1)."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from tamis.dialects.conversion import ConversionError
from tamis.language.tree import And, Negation, Or

# Lexer.

Kind = OneOf["word", "name", "string", "number", "operator", "end"]

WORDS = frozenset(["NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"])
"""Reserved in any case; no identifier is called so."""

_LONG = 1 << 63
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>'(?:[^']|'')*')
    | (?P<float>(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[fFdD]?|\d[\d_]*(?:[eE][+-]?\d+[fFdD]?|[fFdD]))
    | (?P<integer>0[xX][0-9a-fA-F_]+[lL]?|0[bB][01_]+[lL]?|\d[\d_]*[lL]?)
    | (?P<name>[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*|\$[\w$]*)
    | (?P<operator><>|<=|>=|[-+*/=<>(),])
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """Token with its place. `value` is that of a literal, the upper-cased word, or the text itself."""

    kind: Kind
    value: str | int | float
    start: int


def tokens(text: str) -> list[Token]:
    """Tokens of a selector and an `end`; `ConversionError` at the first character that begins none."""
    found: list[Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            place = text[at:].lstrip()[:20]
            raise ConversionError("this is no part of a selector", place, _remedy(place))
        kind = match.lastgroup or ""
        found.append(_token(kind, match[kind], match.start(kind)))
        at = match.end()
        if kind in ("integer", "float") and at < len(text) and (text[at].isalnum() or text[at] in "_$"):
            place = text[match.start(kind) : at + 1]
            raise ConversionError("this is no number", place, "write 12, 0x1F, 1.5 or 2.5E3")
    return [*found, Token("end", "", len(text))]


def _token(kind: str, text: str, start: int) -> Token:
    if kind == "string":
        return Token("string", text[1:-1].replace("''", "'"), start)
    if kind == "integer":
        return Token("number", _integer(text), start)
    if kind == "float":
        return Token("number", _float(text), start)
    if kind == "name" and text.upper() in WORDS:
        return Token("word", text.upper(), start)
    return Token("name" if kind == "name" else "operator", text, start)


def _integer(text: str) -> int:
    """Value of Java's integer literals: decimal, hexadecimal, binary, and octal after a leading zero."""
    digits = text.rstrip("lL").replace("_", "")
    try:
        if digits[:2].lower() in ("0x", "0b"):
            value = int(digits, 0)
            # Java writes negative numbers so, too.
            value = value - (1 << 64) if _LONG <= value < 1 << 64 else value
        else:
            value = int(digits, 8) if len(digits) > 1 and digits[0] == "0" else int(digits)
    except ValueError:
        raise ConversionError("a number with a leading zero is octal, and 8 and 9 are no octal digits", text) from None
    if not -_LONG <= value <= _LONG:
        raise ConversionError("the number does not fit into 64 bits", text, "write it as 1E20")
    return value


def _float(text: str) -> float:
    """Value of Java's floating-point literals; one that ends in F is rounded to 32 bits first."""
    single = text[-1] in "fF"
    value = float(text.rstrip("fFdD").replace("_", ""))
    try:
        value = struct.unpack("<f", struct.pack("<f", value))[0] if single else value
    except OverflowError:
        value = float("inf")
    if value == float("inf"):
        raise ConversionError("the number is too large", text, "doubles end at about 1.8E308")
    return value


def _remedy(place: str) -> str:
    if place.startswith("'"):
        return "the string is never closed; add a '"
    if place.startswith('"'):
        return "strings are in single quotes"
    if place.startswith("!"):
        return "write <> for not equal"
    return ""


_COMPARISONS = frozenset(["=", "<>", "<", "<=", ">", ">="])
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Name:
    """Identifier: a header field or a property of the message."""

    name: str


@dataclass(frozen=True, slots=True)
class SelectorLiteral:
    """Literal of a selector."""

    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class Negative:
    """Operand with its sign changed."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class SelectorArithmetic:
    """Arithmetic of two operands."""

    left: Operand
    operator: str
    right: Operand


Operand: TypeAlias = Name | SelectorLiteral | Negative | SelectorArithmetic


@dataclass(frozen=True, slots=True)
class SelectorComparison:
    """Comparison of two operands."""

    left: Operand
    operator: str
    right: Operand


@dataclass(frozen=True, slots=True)
class SelectorLike:
    """LIKE with its escape character."""

    name: str
    pattern: str
    escape: str | None


@dataclass(frozen=True, slots=True)
class SelectorIn:
    """Membership of a property in a list of texts."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """Test that the message lacks a property."""

    name: str


@dataclass(frozen=True, slots=True)
class Truth:
    """Condition of a boolean property or literal by itself."""

    operand: Name | SelectorLiteral


Condition: TypeAlias = (
    "SelectorComparison | SelectorLike | SelectorIn | IsNull | Truth"
    " | And[Condition] | Or[Condition] | Negation[Condition]"
)


def parse(text: str) -> Condition:
    """Syntax tree of the selector; an empty one selects everything."""
    if not text.strip():
        return Truth(SelectorLiteral(True))
    parser = _Parser(text)
    found = parser.disjunction(0)
    if parser.token.kind != "end":
        raise parser.error("expected AND, OR or the end")
    return found


class _Parser:
    """Recursive descent parser. A parenthesis may open a condition or an operand, which its content shows."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self, *values: str) -> bool:
        """Advances past a word or an operator if it is one of these; returns True if it did."""
        if self.token.kind in ("word", "operator") and self.token.value in values:
            self.at += 1
            return True
        return False

    def expect(self, value: str) -> None:
        if not self.take(value):
            raise self.error(f"expected {value}")

    def disjunction(self, depth: int) -> Condition:
        parts = [self.conjunction(depth)]
        while self.take("OR"):
            parts.append(self.conjunction(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def conjunction(self, depth: int) -> Condition:
        parts = [self.negation(depth)]
        while self.take("AND"):
            parts.append(self.negation(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def negation(self, depth: int) -> Condition:
        negations = 0
        while self.take("NOT"):
            negations += 1
        found = self.predicate(depth)
        return Negation(found) if negations % 2 else found

    def predicate(self, depth: int) -> Condition:
        if depth > _DEEPEST:
            raise ConversionError(f"the selector is nested more than {_DEEPEST} deep")
        found = self.value(depth)
        if not isinstance(found, Operand):
            if self.token.kind == "operator" and self.token.value in _COMPARISONS:
                raise self.error("a condition cannot be compared", "join conditions by AND, OR and NOT")
            return found
        if self.token.kind == "operator" and self.token.value in _COMPARISONS:
            operator = str(self.token.value)
            self.at += 1
            return SelectorComparison(found, operator, self.operand(self.value(depth)))
        negated = self.take("NOT")
        if self.take("BETWEEN"):
            low = self.operand(self.value(depth))
            self.expect("AND")
            high = self.operand(self.value(depth))
            between = And((SelectorComparison(found, ">=", low), SelectorComparison(found, "<=", high)))
            return self.negatable(negated, between)
        if self.take("LIKE"):
            return self.negatable(negated, self.like(found))
        if self.take("IN"):
            return self.negatable(negated, self.membership(found))
        if negated:
            raise self.error("after a value, NOT is followed by BETWEEN, LIKE or IN")
        if self.take("IS"):
            negated = self.take("NOT")
            self.expect("NULL")
            return self.negatable(negated, IsNull(self.identifier(found, "IS NULL")))
        if isinstance(found, Name) or (isinstance(found, SelectorLiteral) and isinstance(found.value, bool)):
            return Truth(found)
        raise self.error("expected a comparison")

    def negatable(self, negated: bool, condition: Condition) -> Condition:
        return Negation(condition) if negated else condition

    def like(self, subject: Operand) -> SelectorLike:
        name, pattern, escape = self.identifier(subject, "LIKE"), self.string("LIKE"), None
        if self.take("ESCAPE"):
            escape = self.string("ESCAPE")
            if len(escape) != 1:
                raise ConversionError("ESCAPE takes one character", escape, "write ESCAPE '\\'")
        return SelectorLike(name, pattern, escape)

    def membership(self, subject: Operand) -> SelectorIn:
        name = self.identifier(subject, "IN")
        self.expect("(")
        values = [self.string("IN")]
        while self.take(","):
            values.append(self.string("IN"))
        self.expect(")")
        return SelectorIn(name, tuple(values))

    def identifier(self, subject: Operand, where: str) -> str:
        if not isinstance(subject, Name):
            raise self.error(f"{where} stands after a property's name")
        return subject.name

    def string(self, where: str) -> str:
        if self.token.kind != "string":
            raise self.error(f"{where} takes strings in quotes")
        self.at += 1
        return str(self.tokens[self.at - 1].value)

    def operand(self, found: Operand | Condition) -> Operand:
        if isinstance(found, Operand):
            return found
        raise self.error("a condition cannot be compared", "join conditions by AND, OR and NOT")

    def value(self, depth: int) -> Operand | Condition:
        """Sum, or condition in parentheses."""
        left = self.product(depth)
        while self.token.value in ("+", "-") and self.token.kind == "operator":
            operator = str(self.token.value)
            self.at += 1
            left = SelectorArithmetic(self.operand(left), operator, self.operand(self.product(depth)))
        return left

    def product(self, depth: int) -> Operand | Condition:
        left = self.factor(depth)
        while self.token.value in ("*", "/") and self.token.kind == "operator":
            operator = str(self.token.value)
            self.at += 1
            left = SelectorArithmetic(self.operand(left), operator, self.operand(self.factor(depth)))
        return left

    def factor(self, depth: int) -> Operand | Condition:
        token = self.token
        if depth > _DEEPEST:
            raise ConversionError(f"the selector is nested more than {_DEEPEST} deep")
        if self.take("-"):
            return Negative(self.operand(self.factor(depth + 1)))
        if self.take("+"):
            return self.operand(self.factor(depth + 1))
        if self.take("("):
            found = self.parenthesised(depth + 1)
            self.expect(")")
            return found
        if self.take("TRUE"):
            return SelectorLiteral(True)
        if self.take("FALSE"):
            return SelectorLiteral(False)
        if token.kind in ("name", "string", "number"):
            self.at += 1
            return Name(str(token.value)) if token.kind == "name" else SelectorLiteral(token.value)
        raise self.error("expected a property or a value")

    def parenthesised(self, depth: int) -> Operand | Condition:
        found = self.disjunction(depth) if not self.holds_operand() else self.value(depth)
        # A name in parentheses may go on as an operand.
        return found.operand if isinstance(found, Truth) else found

    def holds_operand(self) -> bool:
        """True if the parenthesis just opened holds no condition: none of its own tokens compares or connects."""
        depth = 0
        for token in self.tokens[self.at :]:
            if token.kind == "operator" and token.value == "(":
                depth += 1
            elif token.kind == "operator" and token.value == ")":
                depth -= 1
                if depth < 0:
                    return True
            elif (token.kind == "word" and token.value not in ("TRUE", "FALSE")) or (
                token.kind == "operator" and token.value in _COMPARISONS
            ):
                return False
        return True

    def error(self, reason: str, remedy: str = "") -> ConversionError:
        rest = self.text[self.token.start :]
        return ConversionError(reason, f"at {rest[:30]!r}" if rest.strip() else "at the end", remedy)
