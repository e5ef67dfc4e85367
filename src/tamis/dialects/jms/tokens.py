"""A selector cut into tokens, each with its place."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Literal as OneOf

from tamis.dialects.conversion import ConversionError

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
    """`value` is what a literal stands for, the upper-cased word, or the text itself."""

    kind: Kind
    value: str | int | float
    start: int


def tokens(text: str) -> list[Token]:
    """All tokens and an `end`; `ConversionError` at the first character that begins none."""
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
    """Java's integer literals: decimal, hexadecimal, binary, and octal after a leading zero."""
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
    """Java's floating-point literals; one that ends in F is rounded to 32 bits first."""
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
