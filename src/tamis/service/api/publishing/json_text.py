"""JSON bodies cut into one text an event, by passes over the bytes: no Python object is made of one among many.

An array becomes lines: the commas between its elements are turned into line ends, and the line ends that were there,
which mean nothing between tokens, into spaces. Whether each line is an event at all is found out with the check.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.service.api.publishing.incoming import malformed
from tamis.strict_json import StrictJsonError, depths, in_strings, read_json

_LINE_END, _RETURN, _SPACE, _COMMA = b"\n\r ,"
_NO_CHARACTER: Final = 1  # a control character, which no JSON string may hold
_BLANKS: Final = b" \t\r\n"
_BLANK_TEXT: Final = " \t\r"


def read_lines(body: bytes) -> pa.Array:
    """The events of JSON lines; blank lines are passed over."""
    texts = _split(_utf8(body))
    return texts.filter(pc.not_equal(pc.binary_length(texts), 0))


def read_document(body: bytes) -> pa.Array:
    """The events of a JSON document: one object, or an array of them."""
    trimmed = _utf8(body).strip(_BLANKS)
    if trimmed.startswith(b"["):
        return _elements(trimmed)
    if trimmed.startswith(b"{"):
        _require_json(trimmed)
        return _split(trimmed) if b"\n" not in trimmed else _elements(b"[" + trimmed + b"]")
    raise malformed("the body must be one JSON object, or an array of objects; many lines are application/x-ndjson")


def read_array(body: bytes) -> pa.Array:
    """The elements of a JSON array."""
    trimmed = _utf8(body).strip(_BLANKS)
    if not trimmed.startswith(b"["):
        raise malformed("the body must be an array of events")
    return _elements(trimmed)


def _require_json(document: bytes) -> None:
    """Refuses what is no JSON as a whole; what an event may not hold is for the check to say."""
    try:
        read_json(document, deepest=None)
    except StrictJsonError as error:
        if error.name is None:
            raise malformed(str(error)) from None


def _elements(document: bytes) -> pa.Array:
    data = np.frombuffer(document, np.uint8)
    inside = in_strings(data)
    depth = depths(data, inside)
    if data[-1] != ord("]") or depth[-1] != 0 or inside[-1] or (len(depth) > 1 and depth[:-1].min() < 1):
        raise malformed("malformed JSON: the brackets or quotes of the body do not close each other")
    lines = data.copy()
    line_ends = (data == _LINE_END) | (data == _RETURN)
    lines[line_ends] = _SPACE
    # A line end within a string is a fault of that element, and must stay one.
    lines[line_ends & inside] = _NO_CHARACTER
    lines[(data == _COMMA) & (depth == 1) & ~inside] = _LINE_END
    texts = _split(lines[1:-1].tobytes())
    if len(texts) == 1 and texts[0].as_py() == "":
        return texts.slice(0, 0)
    if pc.any(pc.equal(pc.binary_length(texts), 0)).as_py():
        raise malformed("malformed JSON: an element of the array is empty")
    return texts


def _split(lines: bytes) -> pa.Array:
    whole = pa.array([lines], pa.large_binary()).view(pa.large_string())
    return pc.utf8_trim(pc.split_pattern(whole, "\n").flatten(), _BLANK_TEXT)


def _utf8(body: bytes) -> bytes:
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise malformed(f"the body is not UTF-8: byte {error.start} cannot be read") from None
    return body
