"""Bytes in events: base64 where they are written in text, as in JSON."""

from __future__ import annotations

import base64
import binascii

import numpy as np
import pyarrow as pa


def read_base64(text: str) -> bytes | None:
    """The bytes that a text stands for; None if it is no base64 with its padding, in the standard alphabet.

    >>> read_base64("aGk="), read_base64("aGk"), read_base64("a-k=")
    (b'hi', None, None)
    """
    return _decoded(text)


def write_base64(value: bytes) -> str:
    """The text that reads back as these bytes."""
    return base64.b64encode(value).decode("ascii")


def shown_bytes(value: bytes) -> str:
    """Bytes as people want to see them: how many there are."""
    return f"<{len(value):,} bytes>"


def decoded(texts: pa.Array) -> tuple[pa.Array, np.ndarray[tuple[int], np.dtype[np.bool_]] | None]:
    """A column of base64 as bytes, and where a text is none; None: nowhere."""
    found: list[bytes | None] = []
    wrong = np.zeros(len(texts), np.bool_)
    for row, text in enumerate(texts.cast(pa.large_binary()).to_pylist()):
        value = None if text is None else _decoded(text)
        wrong[row] = text is not None and value is None
        found.append(value)
    return pa.array(found, pa.binary()), wrong if wrong.any() else None


def _decoded(text: str | bytes) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
