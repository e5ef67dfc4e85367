"""Syntax check of filters and the SQL dialect: tokens are checked before sqlglot parses, so every mistake has a place.

sqlglot's parser takes much that is no filter and says little about what it refuses. `_Reader` therefore walks the
tokens with the language's own grammar; sqlglot only has to nest by precedence the texts that pass.

`FilterDialect` is SQL for filters: sqlglot's with fewer keywords, infix CONTAINS and `?name` variables.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from tamis.errors import FilterError, FilterSyntaxError, FilterTooComplex, FilterTypeError
from tamis.language.tree import Limits

WORDS: dict[str, TokenType] = {
    "AND": TokenType.AND,
    "OR": TokenType.OR,
    "NOT": TokenType.NOT,
    "BETWEEN": TokenType.BETWEEN,
    "IN": TokenType.IN,
    "IS": TokenType.IS,
    "NULL": TokenType.NULL,
    "TRUE": TokenType.TRUE,
    "FALSE": TokenType.FALSE,
    "LIKE": TokenType.LIKE,
    "ILIKE": TokenType.ILIKE,
    "RLIKE": TokenType.RLIKE,
    "REGEXP": TokenType.RLIKE,
    "ESCAPE": TokenType.ESCAPE,
    "CONTAINS": TokenType.AT_GT,
    "TIMESTAMP": TokenType.TIMESTAMP,
}
"""The words of the language, in any case. sqlglot has no token of its own for CONTAINS, so it borrows `@>`'s."""


class FilterDialect(Dialect):
    """SQL dialect of filters. A word that is not in WORDS is a name, whatever other dialects make of it."""

    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]
        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **WORDS,
            "==": TokenType.EQ,
            ">=": TokenType.GTE,
            "<=": TokenType.LTE,
            "<>": TokenType.NEQ,
            "!=": TokenType.NEQ,
            "<=>": TokenType.NULLSAFE_EQ,
            "::": TokenType.DCOLON,
            "||": TokenType.DPIPE,
            "&&": TokenType.DAMP,
        }

    class Parser(parser.Parser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {}

        PRIMARY_PARSERS: ClassVar[dict[Any, Any]] = {
            **parser.Parser.PRIMARY_PARSERS,
            # As sqlglot's own, with the position kept.
            TokenType.NULL: lambda self, token: self.expression(exp.Null(), token),
            TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True), token),
            TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False), token),
        }
        PLACEHOLDER_PARSERS: ClassVar[dict[Any, Any]] = {TokenType.PLACEHOLDER: lambda self: self._parse_variable()}
        RANGE_PARSERS: ClassVar[dict[Any, Any]] = {
            **{
                TokenType[kind]: parser.Parser.RANGE_PARSERS[TokenType[kind]]
                for kind in ("BETWEEN", "IN", "IS", "LIKE", "ILIKE", "RLIKE")
            },
            TokenType.AT_GT: parser.binary_range_parser(exp.ArrayContains),
        }

        def _parse_variable(self) -> exp.Expr:
            mark = self._prev
            name = self._prev if self._match(TokenType.VAR) else mark
            variable = self.expression(exp.Placeholder(this=name.text), mark)
            return variable.update_positions(start=mark.start, end=name.end, line=mark.line, col=mark.col)


_DIALECT = FilterDialect()

_NAMES = {TokenType.VAR, TokenType.IDENTIFIER, TokenType.TIMESTAMP}
_VALUES = {TokenType.NUMBER, TokenType.STRING, TokenType.TRUE, TokenType.FALSE, TokenType.NULL}
_COMPARISONS = {TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE}
_ARITHMETIC = {TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH}
_NEGATABLE = {TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE, TokenType.AT_GT, TokenType.BETWEEN, TokenType.IN}
_CONNECTIVES = {TokenType.AND, TokenType.OR}
_OPERATORS = _COMPARISONS | _ARITHMETIC | _CONNECTIVES | (_NEGATABLE - {TokenType.BETWEEN, TokenType.IN})
_KEYWORDS = frozenset(WORDS.values()) - _NAMES - _VALUES

_SUBQUERIES = {"SELECT", "EXISTS", "ANY", "ALL", "SOME"}

_REFUSED = {
    TokenType.SEMICOLON: "a filter is one expression: leave ';' out",
    TokenType.DPIPE: "'||' is not part of filters; write OR between conditions",
    TokenType.DAMP: "'&&' is not part of filters; write AND between conditions",
    TokenType.DCOLON: "casts are not part of filters; compare an attribute with a value of its own type",
    TokenType.NULLSAFE_EQ: "'<=>' is not part of filters; write x = y, or x IS NULL",
    TokenType.L_BRACKET: "'[' is not part of filters; write tags CONTAINS 'red' for an attribute with several values",
    TokenType.PARAMETER: "'@' is not part of filters; quote a name that has it: \"@name\"",
}


def read(text: str, limits: Limits, operators: Collection[str] = ()) -> exp.Expr:
    """Parses a filter to sqlglot's expression, every leaf with its position in `meta`; `operators` may be called."""
    tokens = tokens_of(text, limits)
    if not tokens:
        message = "the filter is empty; write TRUE for a filter that every event passes"
        raise FilterSyntaxError(message, text, 0, len(text))
    _Reader(text, tokens, limits, operators).walk()
    try:
        parsed = _DIALECT.parser().parse_into(exp.Condition, tokens, text)
    except RecursionError:
        raise FilterTooComplex("the filter is nested too deeply; take parentheses off", text, 0, len(text)) from None
    except (SqlglotError, ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        message = "the filter cannot be read; put parentheses around its conditions"
        raise FilterSyntaxError(message, text, 0, len(text)) from error
    if len(parsed) != 1 or parsed[0] is None:
        raise FilterSyntaxError("the filter cannot be read; write one condition", text, 0, len(text))
    return parsed[0]


def tokens_of(text: str, limits: Limits) -> list[Token]:
    """Tokens of a text that is not too long."""
    if len(text) > limits.text:
        message = f"the filter has {len(text):,} characters, and at most {limits.text:,} are taken; split it"
        raise FilterTooComplex(message, text, limits.text, len(text))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        message = "the text holds half a surrogate pair, which is no character; leave it out"
        raise FilterSyntaxError(message, text.encode("utf-8", "replace").decode(), error.start, error.end) from None
    try:
        return _DIALECT.tokenize(text)
    except TokenError:
        raise _unfinished(text) from None


def span(node: exp.Expr) -> tuple[int, int]:
    """Span of a node in the text: from its first positioned leaf to its last."""
    places = [leaf.meta for leaf in node.walk() if "start" in leaf.meta]
    if not places:
        return 0, 0
    return min(place["start"] for place in places), max(place["end"] for place in places) + 1


def place_of_variable(name: str, text: str) -> tuple[int, int]:
    """Place at which a variable first stands in a text that is a filter; nowhere: 0, 0."""
    tokens = _DIALECT.tokenize(text)
    for mark, word in pairwise(tokens):
        if mark.token_type == TokenType.PLACEHOLDER and word.text == name and word.start == mark.end + 1:
            return mark.start, word.end + 1
    return 0, 0


@dataclass(slots=True)
class _Level:
    """Nesting level: one open parenthesis, or the whole text; and the BETWEENs in it that wait for their AND.

    Commas part the values of IN and the arguments of a call, and nothing else.
    """

    opening: Token | None
    is_list: bool = False
    betweens: list[Token] = field(default_factory=list)


class _Reader:
    """Grammar check: one walk over the tokens, which alternate between operands and what follows them."""

    def __init__(self, text: str, tokens: list[Token], limits: Limits, operators: Collection[str]) -> None:
        self.text = text
        self.tokens = tokens
        self.limits = limits
        self.operators = operators
        self.at = 0
        self.terms = 0
        self.levels = [_Level(None)]

    def walk(self) -> None:
        """Checks that the tokens make a filter; raises at the first that does not fit."""
        self.operand()
        while self.at < len(self.tokens):
            self.after_operand()
        level = self.levels[-1]
        self.no_open_between(level)
        if level.opening is not None:
            raise self.error("this '(' is never closed; add a ')'", level.opening)

    def operand(self) -> None:
        """Checks an operand: prefixes and parentheses, then a name, a value or a variable."""
        prefixes = 0
        while True:
            token = self.take()
            kind = None if token is None else token.token_type
            if token is None or kind is None:
                raise self.missing_operand(None)
            if kind in (TokenType.NOT, TokenType.DASH, TokenType.PLUS):
                prefixes += 1
            elif kind == TokenType.L_PAREN:
                self.levels.append(_Level(token))
            else:
                break
            if len(self.levels) + prefixes > self.limits.depth:
                message = f"the filter is nested more than {self.limits.depth} deep; take parentheses or NOTs off"
                raise FilterTooComplex(message, self.text, token.start, token.end + 1)
        self.terms += not self.levels[-1].is_list
        if self.terms > 2 * self.limits.terms:
            message = f"the filter has more than {self.limits.terms:,} comparisons; split it into several subscriptions"
            raise FilterTooComplex(message, self.text, token.start, len(self.text))
        following = self.peek()
        if kind in _NAMES:
            if following is not None and following.token_type == TokenType.L_PAREN and token.text in self.operators:
                self.arguments(following)
            elif kind == TokenType.TIMESTAMP and following is not None and following.token_type == TokenType.STRING:
                self.take()
        elif kind == TokenType.PLACEHOLDER:
            if following is None or following.token_type != TokenType.VAR or following.start != token.end + 1:
                raise self.error("'?' begins the name of an operator's variable; write ?name", token)
            self.take()
        elif kind not in _VALUES:
            raise self.missing_operand(token)

    def arguments(self, opening: Token) -> None:
        """The opening of a call, and what follows it: nothing more, or the first argument."""
        self.take()
        following = self.peek()
        if following is not None and following.token_type == TokenType.R_PAREN:
            self.take()
            return
        self.levels.append(_Level(opening, is_list=True))
        self.operand()

    def after_operand(self) -> None:
        token = self.take()
        assert token is not None
        kind, level = token.token_type, self.levels[-1]
        if kind in _OPERATORS:
            if kind == TokenType.AND and level.betweens:
                level.betweens.pop()
            elif kind in _CONNECTIVES:
                self.no_open_between(level)
            self.operand()
        elif kind == TokenType.NOT:
            if (negated := self.take()) is None or negated.token_type not in _NEGATABLE:
                raise self.error("after a value, NOT is followed by LIKE, IN, BETWEEN or CONTAINS", token)
            self.at -= 1
        elif kind == TokenType.BETWEEN:
            level.betweens.append(token)
            self.operand()
        elif kind == TokenType.IN:
            opening = self.take()
            if opening is None or opening.token_type != TokenType.L_PAREN:
                raise self.error("IN is followed by a list of values; write x IN (1, 2)", token)
            self.levels.append(_Level(opening, is_list=True))
            self.operand()
        elif kind == TokenType.COMMA and level.is_list:
            self.operand()
        elif kind == TokenType.R_PAREN and level.opening is not None:
            self.no_open_between(level)
            self.levels.pop()
        elif kind == TokenType.IS:
            self.null(token)
        elif kind == TokenType.DOT and self.tokens[self.at - 2].token_type in _NAMES | _KEYWORDS | _VALUES:
            self.part(token)
        elif kind == TokenType.ESCAPE:
            if (escape := self.take()) is None or escape.token_type != TokenType.STRING:
                raise self.error("ESCAPE is followed by one character in quotes; write ESCAPE '!'", token)
        else:
            raise self.unexpected(token)

    def null(self, token: Token) -> None:
        word = self.take()
        if word is not None and word.token_type == TokenType.NOT:
            word = self.take()
        if word is None or word.token_type != TokenType.NULL:
            raise self.error("IS is followed by NULL or NOT NULL; compare other values by = or !=", word or token)

    def part(self, dot: Token) -> None:
        """Checks the next part of a dotted name; any word will do there."""
        token = self.take()
        if token is None or (token.token_type != TokenType.IDENTIFIER and not token.text.isidentifier()):
            raise self.error("a name is expected after '.'", token or dot)

    def take(self) -> Token | None:
        token = self.peek()
        self.at += 1
        return token

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def no_open_between(self, level: _Level) -> None:
        if level.betweens:
            raise self.error("BETWEEN needs two values; write x BETWEEN 1 AND 5", level.betweens[-1])

    def missing_operand(self, token: Token | None) -> FilterSyntaxError:
        """Message for a `token`, or nothing, where an operand should be."""
        previous = self.tokens[self.at - 2] if self.at >= 2 else None
        begins = previous is None or previous.token_type in (*_CONNECTIVES, TokenType.NOT, TokenType.L_PAREN)
        expected = "a condition such as price > 10" if begins and not self.levels[-1].is_list else "a value"
        if previous is not None:
            shown = previous.text.upper() if previous.text.isalpha() else f"'{previous.text}'"
            expected += f" after {shown}"
        if token is None:
            return FilterSyntaxError(f"expected {expected}", self.text, len(self.text), len(self.text))
        kind, following = token.token_type, self.peek()
        if kind in _REFUSED:
            return self.error(_REFUSED[kind], token)
        if kind == TokenType.DOT and following is not None and following.token_type == TokenType.NUMBER:
            return self.error(f"a number begins with a digit; write 0.{following.text}", token)
        if kind in _KEYWORDS - _CONNECTIVES and token.text.isalpha():
            expected += f'; {token.text} is a word of the language, an attribute of that name is quoted: "{token.text}"'
        return self.error(f"expected {expected}", token)

    def unexpected(self, token: Token) -> FilterError:
        """Message for a `token` where AND, OR or an operator should be."""
        kind, previous = token.token_type, self.tokens[self.at - 2]
        if self.tokens[0].text.upper() == "SELECT":
            message = (
                "a filter is only what would stand after WHERE; joins are not taken here, or the schema has no tables"
            )
            return self.error(message, self.tokens[0])
        if kind in _REFUSED:
            return self.error(_REFUSED[kind], token)
        if kind == TokenType.R_PAREN:
            return self.error("this ')' closes nothing; take it off or add a '('", token)
        if kind == TokenType.COMMA:
            message = (
                "',' stands between the values of an IN list or of a call only; write AND or OR between conditions"
            )
            return self.error(message, token)
        if previous.token_type in _NAMES and (kind == TokenType.L_PAREN or previous.text.upper() in _SUBQUERIES):
            return self.call(previous)
        if kind == TokenType.STRING and previous.token_type == TokenType.VAR:
            message = f"a value cannot follow {previous.text}; a moment is written TIMESTAMP '2024-05-01 10:00:00'"
            return self.error(message, token)
        shown = self.text[token.start : token.end + 1]
        return self.error(f"expected AND, OR or an operator before {shown}", token)

    def call(self, name: Token) -> FilterError:
        if name.text.upper() == "CAST":
            return self.error(_REFUSED[TokenType.DCOLON], name)
        if name.text.upper() in _SUBQUERIES:
            return self.error("subqueries are not part of filters; list the values: x IN (1, 2)", name)
        if not self.operators:
            return self.error(f"there is no function {name.text}; compare the attribute itself with a value", name)
        close = get_close_matches(name.text, self.operators, 1)
        remedy = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(self.operators)[:8])}"
        message = f"there is no operator {name.text}; {remedy}"
        return FilterTypeError(message, self.text, name.start, name.end + 1)

    def error(self, message: str, token: Token) -> FilterSyntaxError:
        return FilterSyntaxError(message, self.text, token.start, token.end + 1)


def _unfinished(text: str) -> FilterSyntaxError:
    """Error for a text that ends within quotes or a comment; sqlglot does not say where they begin."""
    at = 0
    while at < len(text):
        if text.startswith("--", at):
            at = text.find("\n", at) % (len(text) + 1)
        elif text.startswith("/*", at) or text[at] in "'\"`":
            opening, closing = ("/*", "*/") if text[at] == "/" else (text[at], text[at])
            end = text.find(closing, at + len(opening))
            if end < 0:
                message = f"this {opening} is never closed; add a {closing}"
                return FilterSyntaxError(message, text, at, len(text))
            at = end + len(closing)
        else:
            at += 1
    return FilterSyntaxError("the text ends too early", text, 0, len(text))
