"""Cuts between values as whole numbers that are in the same order, so that kernels can compare them."""

from __future__ import annotations

import struct

import numpy as np

from tamis.language.extents import END, START, Cut
from tamis.schema import Attribute

LOWEST, HIGHEST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
_BYTES = 8
_SIGN = 1 << 63


def is_exact(attribute: Attribute) -> bool:
    """True if different cuts have different numbers; those of strings with a long common head do not."""
    return attribute.domain.kind not in ("string", "binary")


def first(cut: Cut, attribute: Attribute) -> int:
    """The least value after a cut; of strings, one no greater than it."""
    if cut == START:
        return _of_double(-np.inf) if attribute.domain.kind == "float" else LOWEST
    return HIGHEST if cut == END else _number(cut[1], attribute)


def last(cut: Cut, attribute: Attribute) -> int:
    """The greatest value before a cut; of strings, one no less than it."""
    if cut == END:
        return _of_double(np.inf) if attribute.domain.kind == "float" else HIGHEST
    if cut == START:
        return LOWEST
    return _number(cut[1], attribute) - (1 if is_exact(attribute) else 0)


def _number(value: object, attribute: Attribute) -> int:
    kind = attribute.domain.kind
    if kind == "float":
        return _of_double(float(value))  # type: ignore[arg-type]
    if kind == "string":
        head = str(value).encode("utf-8", "surrogatepass")[:_BYTES].ljust(_BYTES, b"\0")
        return int.from_bytes(head, "big") - _SIGN
    return int(value)  # type: ignore[call-overload]


def _of_double(value: float) -> int:
    """Doubles in their order, next ones next to each other; both zeros are one."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value + 0.0))
    return int(bits) if bits >= 0 else -(int(bits) + _SIGN)


# What kernels may conclude from a predicate's bounds, as bits.

WHOLE = 1  # any value will do: whatever has one satisfies it
RANGES = 2  # its ranges say exactly which values will do
POINT = 4  # one value will do
OPAQUE = 8  # bounds are all that is known of it: a closer look decides
SEVERAL = 16  # it asks for more than one value of a multi-valued attribute, or something of all of them
