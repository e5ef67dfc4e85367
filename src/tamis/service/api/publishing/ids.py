"""The ids of events whose publisher gave none."""

from __future__ import annotations

import hashlib
import os
from typing import Final

import numpy as np
import pyarrow as pa

_PREFIX: Final = b"evt_"
_BYTES: Final = 16


def event_ids(count: int, key: str | None = None) -> pa.Array:
    """`evt_` and 32 hexadecimal digits each: random, or a function of an idempotency key and the event's place."""
    # One long digest cut into pieces: piece i does not depend on how many follow.
    drawn = os.urandom(_BYTES * count) if key is None else hashlib.shake_256(key.encode()).digest(_BYTES * count)
    width = len(_PREFIX) + 2 * _BYTES
    letters = np.empty((count, width), np.uint8)
    letters[:, : len(_PREFIX)] = np.frombuffer(_PREFIX, np.uint8)
    letters[:, len(_PREFIX) :] = np.frombuffer(drawn.hex().encode(), np.uint8).reshape(count, 2 * _BYTES)
    offsets = np.arange(count + 1, dtype=np.int32) * width
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(letters))
