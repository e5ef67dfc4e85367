"""The SQL dialect of filters: sqlglot's parser with fewer keywords, infix CONTAINS and `?name` variables."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

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
    """Filters as SQL boolean expressions. A word that is not in WORDS is a name, whatever other dialects make of it."""

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
