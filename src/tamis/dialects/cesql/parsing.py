"""Parser of CESQL: text to syntax tree; invalid text is refused with its place, as a ParseError of the
specification."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NoReturn, cast

from lark import Lark, Token, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from tamis.dialects.cesql.functions import LARGEST, SMALLEST
from tamis.dialects.cesql.syntax import (
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Exists,
    In,
    Like,
    Literal,
    Logic,
    LogicOperator,
    Minus,
    Node,
    Not,
    children,
)
from tamis.errors import FilterSyntaxError, FilterTooComplex, PatternError

# Grammar of CESQL 1.0 (§2), with the precedence of §3.6 in the order of its rules: the loosest binding comes first.
#
# Keywords are case-insensitive, and names where they are part of a longer one.

GRAMMAR: Final = r"""
?start: logic

?logic: comparison (_logic_operator comparison)*                -> logic
_logic_operator: AND | OR | XOR

?comparison: sum | comparison COMPARED sum                      -> comparison
?sum: product | sum (PLUS | MINUS) product                      -> arithmetic
?product: tested | product (TIMES | DIVIDED | REMAINDER) tested -> arithmetic

?tested: signed
       | tested [NOT] LIKE STRING                               -> like
       | tested [NOT] IN "(" logic ("," logic)* ")"             -> within

?signed: operated
       | DIGITS                                                 -> integer

?operated: primary
         | NOT signed                                           -> negation
         | MINUS operated                                       -> minus
         | (MINUS | PLUS) DIGITS                                -> signed_integer

?primary: STRING                                                -> string
        | (TRUE | FALSE)                                        -> boolean
        | NAME                                                  -> attribute
        | EXISTS (NAME | DIGITS)                                -> exists
        | NAME "(" [logic ("," logic)*] CLOSING                 -> call
        | "(" logic ")"

CLOSING: ")"
COMPARED: "=" | "!=" | "<>" | "<=" | ">=" | "<" | ">"
PLUS: "+"
MINUS: "-"
TIMES: "*"
DIVIDED: "/"
REMAINDER: "%"

AND.2: /and(?!\w)/i
OR.2: /or(?!\w)/i
XOR.2: /xor(?!\w)/i
NOT.2: /not(?!\w)/i
LIKE.2: /like(?!\w)/i
IN.2: /in(?!\w)/i
EXISTS.2: /exists(?!\w)/i
TRUE.2: /true(?!\w)/i
FALSE.2: /false(?!\w)/i
DIGITS.2: /[0-9]+(?!\w)/
NAME: /[A-Za-z0-9_]+/

STRING: /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/s

%ignore /[ \t\r\n]+/
"""


LONGEST_TEXT: Final = 20_000
LONGEST_PATTERN: Final = 1_000
DEEPEST: Final = 100

_FUNCTION_NAME: Final = re.compile(r"[A-Za-z][A-Za-z_]*", re.ASCII)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


def parse(text: str) -> Node:
    """Syntax tree of the expression; `FilterSyntaxError` if the text is none, `FilterTooComplex` if it is too large."""
    if len(text) > LONGEST_TEXT:
        message = f"the expression has {len(text):,} characters and at most {LONGEST_TEXT:,} are taken; shorten it"
        raise FilterTooComplex(message, text, LONGEST_TEXT, len(text))
    try:
        read = _parser().parse(text)
    except UnexpectedInput as error:
        raise _refusal(text, error) from None
    try:
        node = cast(Node, _Nodes(text).transform(read))
    except VisitError as error:
        raise error.orig_exc from None
    _require_shallow(node, text)
    return node


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", lexer="basic", maybe_placeholders=True, propagate_positions=True)


def _refusal(text: str, error: UnexpectedInput) -> FilterSyntaxError:
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        start, end = error.token.start_pos or 0, error.token.end_pos or 0
        if "NAME" in error.expected:
            message = f"a value is expected here, not {_shown(str(error.token))}"
        elif error.expected == {"STRING"}:
            message = f"LIKE takes a pattern in quotes, not {_shown(str(error.token))}"
        else:
            message = f"an operator is expected here, not {_shown(str(error.token))}"
        return FilterSyntaxError(message, text, start, end)
    if isinstance(error, UnexpectedCharacters):
        start = cast(int, error.pos_in_stream)
        if text[start] in "'\"":
            return FilterSyntaxError(f"the string has no closing {text[start]}", text, start, len(text))
        return FilterSyntaxError(f"{text[start]!r} is no part of the language", text, start, start + 1)
    return FilterSyntaxError("the expression ends too early: something is missing here", text, len(text), len(text))


def _shown(token: str) -> str:
    return token if len(token) <= 30 else token[:27] + "..."


def _require_shallow(node: Node, text: str) -> None:
    """Bounds the depth without recursing, since evaluation recurses."""
    level = [node]
    for _ in range(DEEPEST):
        level = [child for found in level for child in children(found)]
        if not level:
            return
    message = f"the expression is nested more than {DEEPEST} levels deep; take parentheses off"
    raise FilterTooComplex(message, text, level[0].start, level[0].end)


@v_args(meta=True)
class _Nodes(Transformer_NonRecursive[Token, Any]):
    """Transformer from Lark's tree; refuses what the grammar admits and the language does not."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def integer(self, place: Meta, parts: list[Token]) -> Literal:
        return self._number(parts[0], place.start_pos, place.end_pos)

    def string(self, place: Meta, parts: list[Token]) -> Literal:
        return Literal(_unquoted(parts[0]), place.start_pos, place.end_pos)

    def boolean(self, place: Meta, parts: list[Token]) -> Literal:
        return Literal(parts[0].type == "TRUE", place.start_pos, place.end_pos)

    def attribute(self, place: Meta, parts: list[Token]) -> Attribute:
        return Attribute(self._attribute_name(parts[0]), place.start_pos, place.end_pos)

    def exists(self, place: Meta, parts: list[Token]) -> Exists:
        return Exists(self._attribute_name(parts[1]), place.start_pos, place.end_pos)

    def call(self, place: Meta, parts: list[Any]) -> Call:
        name, *arguments, _ = parts
        if _FUNCTION_NAME.fullmatch(name) is None:
            self._refuse("the name of a function has letters and underscores only", name.start_pos, name.end_pos)
        given = tuple(argument for argument in arguments if argument is not None)
        return Call(name.upper(), given, place.start_pos, place.end_pos)

    def negation(self, place: Meta, parts: list[Any]) -> Not:
        return Not(parts[1], place.start_pos, place.end_pos)

    def minus(self, place: Meta, parts: list[Any]) -> Minus:
        return Minus(parts[1], place.start_pos, place.end_pos)

    def signed_integer(self, place: Meta, parts: list[Token]) -> Node:
        """Literal with its sign: otherwise the smallest integer could not be written."""
        sign, digits = parts
        if sign.end_pos == digits.start_pos:
            return self._number(sign + digits, place.start_pos, place.end_pos)
        if sign == "+":
            self._refuse("a value is expected here, not +", place.start_pos, place.start_pos + 1)
        return Minus(self._number(digits, digits.start_pos or 0, place.end_pos), place.start_pos, place.end_pos)

    def like(self, place: Meta, parts: list[Any]) -> Like:
        operand, negated, _, quoted = parts
        pattern = _unquoted(quoted)
        if len(pattern) > LONGEST_PATTERN:
            message = f"the pattern has {len(pattern):,} characters and at most {LONGEST_PATTERN:,} are taken"
            raise PatternError(message, self.text, quoted.start_pos, quoted.end_pos)
        return Like(operand, pattern, negated is not None, place.start_pos, place.end_pos)

    def within(self, place: Meta, parts: list[Any]) -> In:
        operand, negated, _, *elements = parts
        return In(operand, tuple(elements), negated is not None, place.start_pos, place.end_pos)

    def arithmetic(self, place: Meta, parts: list[Any]) -> Arithmetic:
        left, operator, right = parts
        return Arithmetic(cast(ArithmeticOperator, str(operator)), left, right, place.start_pos, place.end_pos)

    def comparison(self, place: Meta, parts: list[Any]) -> Comparison:
        left, operator, right = parts
        written = "!=" if operator == "<>" else str(operator)
        return Comparison(cast(ComparisonOperator, written), left, right, place.start_pos, place.end_pos)

    def logic(self, place: Meta, parts: list[Any]) -> Node:
        first, *rest = parts
        if not rest:
            return cast(Node, first)
        pairs = tuple((cast(LogicOperator, rest[at].upper()), rest[at + 1]) for at in range(0, len(rest), 2))
        return Logic(first, pairs, place.start_pos, place.end_pos)

    def _number(self, written: str, start: int, end: int) -> Literal:
        # Ten digits and a sign are the most that fit; leading zeros aside, more need not be read.
        digits = written.lstrip("+-").lstrip("0") or "0"
        number = int(digits) * (-1 if written.startswith("-") else 1) if len(digits) <= 10 else None
        if number is None or not SMALLEST <= number <= LARGEST:
            self._refuse(f"integers go from {SMALLEST:,} to {LARGEST:,}", start, end)
        return Literal(number, start, end)

    def _attribute_name(self, name: Token) -> str:
        if "_" in name:
            message = "an attribute's name has letters and digits only, and a function's is followed by ("
            self._refuse(message, name.start_pos or 0, name.end_pos or 0)
        return name.lower()

    def _refuse(self, message: str, start: int, end: int) -> NoReturn:
        raise FilterSyntaxError(message, self.text, start, end)


def _unquoted(quoted: Token) -> str:
    """Content of a string: a backslash before its own kind of quote is left out, and any other is kept."""
    quote = quoted[0]
    return _ESCAPE.sub(lambda found: quote if found[1] == quote else found[0], quoted[1:-1])
