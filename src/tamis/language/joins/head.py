"""Parser of a join's head, SELECT ... FROM ... JOIN ... up to WHERE, token by token, so that mistakes have a place.

The condition after WHERE is parsed like a filter (parsing.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from tamis.errors import FilterSyntaxError, FilterTooComplex
from tamis.language.syntax import tokens_of
from tamis.language.tree import Limits

_OUTER = ("LEFT", "RIGHT", "FULL", "OUTER", "CROSS")
_AFTER = ("GROUP", "ORDER", "LIMIT", "HAVING", "UNION")
_OWN = ("SELECT", "DISTINCT", "FROM", "JOIN", "INNER", "NATURAL", "USING", "ON", "AS", "WHERE")
WORDS = frozenset([*_OWN, *_OUTER, *_AFTER])
"""Words that are no names in this part of a text, unless quoted."""

_EXAMPLE = "SELECT * FROM a JOIN b USING (x) WHERE a.y > 5"


@dataclass(frozen=True, slots=True)
class Name:
    """A name, its parts put together by dots, and where it stands."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A table and its alias in the text."""

    table: Name
    alias: str


@dataclass(frozen=True, slots=True)
class Link:
    """A joined table, and how: on equal columns (`on`), on attributes (`using`), or on all it can be (neither)."""

    source: Source
    start: int
    end: int
    using: tuple[Name, ...] = ()
    on: tuple[tuple[Name, Name], ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """Head of a join, SELECT up to WHERE.

    `columns` is None for `*`; `where` is where the condition begins, None without one.
    """

    columns: tuple[Name, ...] | None
    first: Source
    links: tuple[Link, ...]
    where: int | None

    @property
    def sources(self) -> list[Source]:
        return [self.first, *(link.source for link in self.links)]


def read_head(text: str, limits: Limits) -> Head:
    """Parses the head of a join's text; `FilterError` where it is none."""
    return _Reader(text, tokens_of(text, limits), limits).read()


class _Reader:
    """One walk over the tokens up to WHERE."""

    def __init__(self, text: str, tokens: list[Token], limits: Limits) -> None:
        self.text = text
        self.tokens = tokens
        self.limits = limits
        self.at = 0

    def read(self) -> Head:
        self.expect("SELECT", f"a join begins with SELECT: {_EXAMPLE}")
        columns = self.columns()
        self.expect("FROM", f"expected FROM and a table: {_EXAMPLE}")
        first = self.source()
        links: list[Link] = []
        while (link := self.link()) is not None:
            links.append(link)
            if len(links) >= self.limits.tables:
                message = f"the join has more than {self.limits.tables} tables; split it into several subscriptions"
                raise FilterTooComplex(message, self.text, link.start, len(self.text))
        if self.peek() is None:
            return Head(columns, first, tuple(links), None)
        where = self.take()
        if not self.is_word(where, "WHERE"):
            raise self.unexpected(where)
        following = self.peek()
        if following is None:
            raise self.error("expected a condition after WHERE; leave WHERE out if there is none", where)
        return Head(columns, first, tuple(links), following.start)

    def columns(self) -> tuple[Name, ...] | None:
        token = self.peek()
        if token is not None and token.token_type == TokenType.STAR:
            self.take()
            return None
        if self.is_word(token, "DISTINCT"):
            raise self.error("joins give every row; leave DISTINCT out", token)
        found = [self.name("expected * or names of columns after SELECT")]
        while self.skip(TokenType.COMMA):
            found.append(self.name("expected the name of a column after ','"))
        token = self.peek()
        if token is not None and not self.is_word(token, "FROM"):
            if token.token_type == TokenType.L_PAREN:
                raise self.error("functions are not part of joins; select columns, or *", token)
            remedy = "columns keep their names; leave the new one out" if self.is_word(token, "AS") else "expected ','"
            raise self.error(f"{remedy} or FROM here", token)
        return tuple(found)

    def source(self) -> Source:
        table = self.name("expected the name of a table")
        token = self.peek()
        if self.is_word(token, "AS"):
            self.take()
            alias = self.name("expected a name after AS")
            return Source(table, alias.name)
        if token is not None and self.is_name(token):
            return Source(table, self.name("").name)
        return Source(table, table.name)

    def link(self) -> Link | None:
        token = self.peek()
        if token is None or self.is_word(token, "WHERE"):
            return None
        natural = self.skip_word("NATURAL")
        self.skip_word("INNER")
        join = self.peek()
        if not self.is_word(join, "JOIN"):
            raise self.unexpected(join)
        self.take()
        source = self.source()
        end = source.table.end
        if natural:
            return Link(source, token.start, end)
        how = self.peek()
        if self.skip_word("USING"):
            return Link(source, token.start, end, using=self.using(how))
        if self.skip_word("ON"):
            return Link(source, token.start, end, on=self.on())
        message = f"expected USING (attribute) or ON a.x = b.x after {source.table.name}; or write NATURAL JOIN"
        raise FilterSyntaxError(message, self.text, token.start, end)

    def using(self, word: Token | None) -> tuple[Name, ...]:
        opening = self.peek()
        if not self.skip(TokenType.L_PAREN):
            raise self.error("USING is followed by attributes in parentheses; write USING (x)", opening or word)
        names = [self.name("expected the name of an attribute after '('")]
        while self.skip(TokenType.COMMA):
            names.append(self.name("expected the name of an attribute after ','"))
        closing = self.peek()
        if not self.skip(TokenType.R_PAREN):
            raise self.error("expected ',' or ')' here; write USING (x, y)", closing or opening)
        return tuple(names)

    def on(self) -> tuple[tuple[Name, Name], ...]:
        pairs = self.conjunction()
        token = self.peek()
        if token is not None and token.token_type == TokenType.OR:
            raise self.error("ON takes equalities put together by AND; there is no OR among them", token)
        return tuple(pairs)

    def conjunction(self) -> list[tuple[Name, Name]]:
        pairs = self.equality()
        while self.skip(TokenType.AND):
            pairs += self.equality()
        return pairs

    def equality(self) -> list[tuple[Name, Name]]:
        opening = self.peek()
        if self.skip(TokenType.L_PAREN):
            # One level is what people write; more would have the recursion's depth to mind.
            pairs = [self.pair()]
            while self.skip(TokenType.AND):
                pairs.append(self.pair())
            if not self.skip(TokenType.R_PAREN):
                raise self.error("this '(' is not closed after an equality; write ON (a.x = b.x)", opening)
            return pairs
        return [self.pair()]

    def pair(self) -> tuple[Name, Name]:
        remedy = "ON takes equalities such as a.x = b.x; put other conditions after WHERE"
        left = self.name(remedy)
        sign = self.peek()
        if not self.skip(TokenType.EQ):
            raise self.error(remedy, sign)
        return left, self.name(remedy)

    def name(self, expected: str) -> Name:
        token = self.peek()
        if token is None or not self.is_name(token):
            if token is not None and (token.text.upper() in WORDS or token.text.isalpha()):
                expected += f'; {token.text} is a word of the language, quote it if it is a name: "{token.text}"'
            raise self.error(expected, token)
        self.take()
        parts, end = [token.text], token.end + 1
        while self.skip(TokenType.DOT):
            part = self.peek()
            if part is None or (part.token_type != TokenType.IDENTIFIER and not part.text.isidentifier()):
                if part is not None and part.token_type == TokenType.STAR:
                    raise self.error("expected a name after '.'; select *, or list the columns", part)
                raise self.error("a name is expected after '.'", part)
            self.take()
            parts.append(part.text)
            end = part.end + 1
        return Name(".".join(parts), token.start, end)

    def is_name(self, token: Token) -> bool:
        if token.token_type == TokenType.IDENTIFIER:
            return True
        return token.token_type in (TokenType.VAR, TokenType.TIMESTAMP) and token.text.upper() not in WORDS

    def is_word(self, token: Token | None, word: str) -> bool:
        return token is not None and token.token_type == TokenType.VAR and token.text.upper() == word

    def skip_word(self, word: str) -> bool:
        found = self.is_word(self.peek(), word)
        self.at += found
        return found

    def skip(self, kind: TokenType) -> bool:
        token = self.peek()
        found = token is not None and token.token_type == kind
        self.at += found
        return found

    def expect(self, word: str, message: str) -> None:
        if not self.skip_word(word):
            raise self.error(message, self.peek())

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self) -> Token | None:
        token = self.peek()
        self.at += 1
        return token

    def unexpected(self, token: Token | None) -> FilterSyntaxError:
        """Message for a `token` where JOIN or WHERE should be."""
        if token is None:
            return self.error("expected JOIN and a table", token)
        word = token.text.upper()
        if token.token_type == TokenType.COMMA:
            return self.error("tables are put together by JOIN; write a JOIN b USING (x)", token)
        if token.token_type == TokenType.SEMICOLON:
            return self.error("a join is one SELECT: leave ';' out", token)
        if word in _OUTER:
            return self.error(f"there is no {word} JOIN here: rows without a partner are left out; write JOIN", token)
        if word in _AFTER:
            return self.error(f"{word} is not part of joins; leave it out", token)
        return self.error(f"expected JOIN or WHERE before {self.text[token.start : token.end + 1]}", token)

    def error(self, message: str, token: Token | None) -> FilterSyntaxError:
        if token is None:
            return FilterSyntaxError(message, self.text, len(self.text), len(self.text))
        return FilterSyntaxError(message, self.text, token.start, token.end + 1)
