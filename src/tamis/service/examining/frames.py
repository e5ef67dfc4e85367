"""What a service and its examiners say to each other: frames of a kind, a length and bytes."""

from __future__ import annotations

import struct
from typing import Final

HEAD: Final = struct.Struct(">cQ")

QUESTION, LOADING, BEGUN, ANSWER, REFUSAL, FAULT = b"Q", b"L", b"B", b"A", b"R", b"F"
"""`LOADING`: the examiner loads what it needs for this question, and for which nobody who asks is to blame."""


def framed(kind: bytes, *parts: bytes) -> bytes:
    """A frame as it goes over a pipe."""
    return b"".join((HEAD.pack(kind, sum(map(len, parts))), *parts))
