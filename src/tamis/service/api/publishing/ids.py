"""The ids of events whose publisher gave none."""

from __future__ import annotations

import hashlib
import os
from typing import Final

import numpy as np
import pyarrow as pa

from tamis.eventlog.base.keys import content_hash

_PREFIX: Final = b"evt_"
_BYTES: Final = 16


def event_ids(count: int) -> pa.Array:
    """`evt_` and 32 random hexadecimal digits each."""
    return _written(count, os.urandom(_BYTES * count))


def repeatable_ids(key: str, bodies: pa.Array) -> pa.Array:
    """Ids of the same form that are a function of an idempotency key, the events under it, and each one's place.

    The key alone would not do: it is forgotten after a while, and may then stand for other events.
    """
    drawn = hashlib.shake_256(key.encode() + b"\0" + content_hash(bodies))
    return _written(len(bodies), drawn.digest(_BYTES * len(bodies)))


def _written(count: int, drawn: bytes) -> pa.Array:
    width = len(_PREFIX) + 2 * _BYTES
    letters = np.empty((count, width), np.uint8)
    letters[:, : len(_PREFIX)] = np.frombuffer(_PREFIX, np.uint8)
    letters[:, len(_PREFIX) :] = np.frombuffer(drawn.hex().encode(), np.uint8).reshape(count, 2 * _BYTES)
    offsets = np.arange(count + 1, dtype=np.int32) * width
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(letters))
