"""How deep a JSON text goes, found by passes over its bytes: before any parser has to recurse."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

DEEPEST: Final = 100
"""Objects and arrays within each other in an event; parsers elsewhere stop at 250 or so."""

_QUOTE, _BACKSLASH = b'"\\'


def deepest(document: bytes) -> int:
    """The depth of the innermost object or array; few brackets are not looked at, and counted as if nested."""
    brackets = document.count(b"{") + document.count(b"[")
    if brackets <= DEEPEST:
        return brackets
    data = np.frombuffer(document, np.uint8)
    return int(depths(data, in_strings(data)).max())


def depths(data: Bytes, inside: Mask) -> npt.NDArray[np.int32]:
    """How many objects and arrays are open after each byte, of which those `inside` strings do not count."""
    opening = ((data == ord("[")) | (data == ord("{"))) & ~inside
    closing = ((data == ord("]")) | (data == ord("}"))) & ~inside
    return np.cumsum(opening.astype(np.int8) - closing.astype(np.int8), dtype=np.int32)


def in_strings(data: Bytes) -> Mask:
    """Which bytes stand within quotes, the opening quote included."""
    quotes = data == _QUOTE
    slashes = np.flatnonzero(data == _BACKSLASH)
    if len(slashes):
        # Of a run of backslashes the first escapes the second, the third the fourth; an odd last one what follows.
        begins = np.diff(slashes, prepend=-2) != 1
        run_start = slashes[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
        escaped = slashes[(slashes - run_start) % 2 == 0] + 1
        quotes[escaped[escaped < len(data)]] = False
    return np.bitwise_xor.accumulate(quotes)
