"""Strict JSON parser: texts on which JSON parsers disagree are refused; depth of nesting, measured without a parser.

That is a name given twice in one object, NaN and infinities, numbers beyond all doubles, lone surrogates, and nesting
deeper than a bound, which is found by passes over the bytes: before any parser has to recurse.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from tamis.arrays import Bools, UInt8s
from tamis.errors import shown

DEEPEST: Final = 100
"""Objects and arrays within each other in an event; parsers elsewhere stop at 250 or so."""


_QUOTE, _BACKSLASH = b'"\\'
_LARGEST_INTEGER: Final = (1 << 64) - 1
_SMALLEST_INTEGER: Final = -(1 << 63)
# Numbers that may go beyond 64 bits, or beyond doubles: others are left to Python's parser.
_WIDE: Final = re.compile(r"[0-9]{19}|[0-9][eE]")
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")


class StrictJsonError(ValueError):
    """Text that is no JSON in the strict sense. `name` is the name that one object has twice, if that is the fault."""

    def __init__(self, reason: str, name: str | None = None) -> None:
        super().__init__(reason, name)
        self.reason = reason
        self.name = name

    def __str__(self) -> str:
        return self.reason if self.name is not None else f"malformed JSON: {self.reason}"


def read_json(text: str | bytes, *, deepest: int | None = DEEPEST, exact: bool = False) -> Any:
    """Parses the text to Python values; `StrictJsonError` if some parser would not take it, or would read it otherwise.

    Integers beyond 64 bits are read as doubles, as most parsers do. `exact` takes numbers as they are written, NaN and
    infinities among them, and halves of characters: for a caller who judges every value. Without a bound on nesting,
    Python's own holds.
    """
    if deepest is not None:
        body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        if depth_of(body, deepest) > deepest:
            raise StrictJsonError(f"its nesting goes too far: more than {deepest} objects and arrays within each other")
    try:
        text = text.decode() if isinstance(text, bytes) else text
        if exact:
            return _EXACT.decode(text)
        value = (_STRICT if _WIDE.search(text) is None else _STRICT_WIDE).decode(text)
        if _HALF.search(text) is not None:
            _require_characters(value)
    except UnicodeDecodeError as error:
        raise StrictJsonError(f"byte {error.start + 1} is no UTF-8") from None
    except json.JSONDecodeError as error:
        raise StrictJsonError(f"{error.msg}, character {error.pos + 1}") from None
    except StrictJsonError:
        raise
    except ValueError:
        raise StrictJsonError("a number has too many digits") from None
    except RecursionError:
        raise StrictJsonError("its nesting goes too far") from None
    return value


def depth_of(document: bytes, enough: int = DEEPEST) -> int:
    """Depth of the innermost object or array; `enough` brackets are not looked at, and counted as if nested."""
    brackets = document.count(b"{") + document.count(b"[")
    if brackets <= enough:
        return brackets
    data = np.frombuffer(document, np.uint8)
    return int(depths(data, in_strings(data)).max())


def depths(data: UInt8s, inside: Bools) -> npt.NDArray[np.int32]:
    """Number of objects and arrays open after each byte, of which those `inside` strings do not count."""
    opening = ((data == ord("[")) | (data == ord("{"))) & ~inside
    closing = ((data == ord("]")) | (data == ord("}"))) & ~inside
    return np.cumsum(opening.astype(np.int8) - closing.astype(np.int8), dtype=np.int32)


def in_strings(data: UInt8s) -> Bools:
    """Mask of the bytes within quotes, the opening quote included."""
    quotes = data == _QUOTE
    slashes = np.flatnonzero(data == _BACKSLASH)
    if len(slashes):
        # Of a run of backslashes the first escapes the second, the third the fourth; an odd last one what follows.
        begins = np.diff(slashes, prepend=-2) != 1
        run_start = slashes[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
        escaped = slashes[(slashes - run_start) % 2 == 0] + 1
        quotes[escaped[escaped < len(data)]] = False
    return np.bitwise_xor.accumulate(quotes)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise StrictJsonError(f"the name {shown(name)} is given twice", name)
            seen.add(name)
    return members


def _no_constant(constant: str) -> NoReturn:
    raise StrictJsonError(f"{constant} is no number of JSON")


def _integer(digits: str) -> int | float:
    value = int(digits)
    return value if _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER else _double(digits)


def _double(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise StrictJsonError("a number is beyond all doubles")
    return value


def _require_characters(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise StrictJsonError("half of a character stands alone: \\ud800 to \\udfff come in pairs") from None


_EXACT: Final = json.JSONDecoder(object_pairs_hook=_unrepeated)
_STRICT: Final = json.JSONDecoder(object_pairs_hook=_unrepeated, parse_constant=_no_constant)
_STRICT_WIDE: Final = json.JSONDecoder(
    object_pairs_hook=_unrepeated, parse_constant=_no_constant, parse_int=_integer, parse_float=_double
)
