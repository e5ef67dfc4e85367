"""Cutting and reading of a few texts with plain Python: for those, compiled loops over arrays cost more than they save.

Agrees with cutting.py and columns.py on every text it takes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tamis.language.kernels import DECIMAL, INTEGER, STRING
from tamis.language.limits import Limits
from tamis.language.numbers import INT_MAX, INT_MIN
from tamis.language.patterns import like_fault, rlike_fault
from tamis.language.predicates import Value
from tamis.language.templates import Reading, Span
from tamis.language.timestamps import read_timestamp
from tamis.schema import EnumeratedDomain, HierarchicalDomain

_WORD = r"A-Za-z0-9_\x80-\U0010FFFF"
_LITERAL = re.compile(
    rf"""('[^']*+(?:''[^']*+)*+'|(?<![{_WORD}.])[0-9]++(?:\.[0-9]*+)?+(?:[eE][+-]?[0-9]++)?+(?![{_WORD}.]))"""
)
_QUOTED_OR_COMMENTED = re.compile(r"""["`{\0]|--|/\*""")
_EXACT = 1 << 53


@dataclass(frozen=True, slots=True)
class Cut:
    """A text's shape, and its literals as written."""

    shape: str
    literals: list[str]
    pieces: list[str]

    def spans(self) -> list[Span]:
        """Where the literals stand."""
        spans: list[Span] = []
        at = 0
        for number, piece in enumerate(self.pieces):
            if number % 2:
                spans.append((at, at + len(piece), kind_of(piece)))
            at += len(piece)
        return spans


def kind_of(literal: str) -> int:
    """The kind of a literal (kernels.py)."""
    return STRING if literal[0] == "'" else INTEGER if literal.isdecimal() else DECIMAL


def cut_one(text: str) -> Cut | None:
    """The text's shape and literals; None for a text with quoted names or comments, which need a closer look."""
    if _QUOTED_OR_COMMENTED.search(text):
        return None
    pieces = _LITERAL.split(text)
    literals = pieces[1::2]
    marked = pieces.copy()
    marked[1::2] = [_MARKS[kind_of(literal)] for literal in literals]
    return Cut("".join(marked), literals, pieces)


def mark(kind: int) -> str:
    """What stands for a literal in a shape; texts with a NUL of their own have no shape."""
    return _MARKS[kind]


_MARKS = {kind: f"\0{kind}" for kind in (INTEGER, DECIMAL, STRING)}


def read_value(reading: Reading, literal: str, limits: Limits) -> Value | None:
    """The slot's value; None if the text has to be parsed by itself."""
    kind = reading.attribute.domain.kind
    if kind == "integer":
        return _stepped(reading, int(literal)) if len(literal) < 40 else None
    if kind == "float":
        return _float(reading, literal)
    string = literal[1:-1].replace("''", "'")
    if kind == "timestamp":
        moment = read_timestamp(string)
        return None if moment is None else _stepped(reading, moment)
    domain = reading.attribute.domain
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        return None if domain.position(string) is None else string
    if reading.role == "like":
        return string if like_fault(string, limits) is None else None
    if reading.role == "rlike":
        return string if rlike_fault(string, limits) is None else None
    return string


def _stepped(reading: Reading, value: int) -> int | None:
    if value > INT_MAX:
        return None
    value = (-value if reading.negative else value) + reading.step
    return value if INT_MIN <= value <= INT_MAX else None


def _float(reading: Reading, literal: str) -> float | None:
    if reading.kind == INTEGER and (len(literal) > 400 or int(literal) > _EXACT):
        return None
    value = float(literal)
    return None if math.isinf(value) else (-value if reading.negative else value) + 0.0
