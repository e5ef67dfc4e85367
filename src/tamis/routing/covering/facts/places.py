"""Places: the codes of an attribute that some value really has, numbered without gaps.

A code (matching/codes/codes.py) may stand for no value at all: there is no integer between 3 and 4, and no value
between two of a listed domain. Among places there are none such, so two sets of values that filters ask for are equal
iff their places are, and one holds the other iff its places do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language.numbers import INT_MAX, INT_MIN
from tamis.matching.codes.dictionary import Dictionary, Strings
from tamis.routing.covering.exact_values import prefixed
from tamis.schema import EVENT_TYPE, Schema

Flags = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

_AFTER_PREFIX = b"\xff"  # what lowering puts after a prefix: above all strings that begin so, and no string itself


@dataclass(frozen=True)
class Places:
    """Of attribute a, code c is place `below[starts[a] + c]` if it is one; and place p is code `codes[firsts[a] + p]`.

    `below` counts the places under each code, and has one more entry an attribute, which counts all of them.
    """

    names: tuple[str, ...]
    starts: Int64s
    below: Int32s
    firsts: Int64s
    codes: Int32s

    @property
    def counts(self) -> Int64s:
        """How many places each attribute has."""
        return np.diff(self.firsts)

    @classmethod
    def of(cls, names: tuple[str, ...], dictionaries: Mapping[str, Dictionary], schema: Schema) -> Places:
        """Of attributes with these dictionaries; one without has a single place, for all its values."""
        possible = [_possible(dictionaries[n], n, schema) if n in dictionaries else np.ones(1, np.bool_) for n in names]
        below = [np.concatenate([np.zeros(1, np.int32), np.cumsum(p, dtype=np.int32)]) for p in possible]
        codes = [np.flatnonzero(p).astype(np.int32) for p in possible]
        return cls(
            names, _starts(below), np.concatenate([_NONE, *below]), _starts(codes), np.concatenate([_NONE, *codes])
        )


_NONE = np.zeros(0, np.int32)


def _starts(arrays: list[Int32s]) -> Int64s:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum([len(a) for a in arrays], dtype=np.int64)])


def _possible(dictionary: Dictionary, name: str, schema: Schema) -> Flags:
    """Which codes some value has: the constants at odd codes, and the gaps between them."""
    count = len(dictionary)
    possible = np.ones(2 * count + 1, np.bool_)
    kind = schema.attributes[name].domain.kind
    if kind in ("boolean", "enumerated", "hierarchical"):
        possible[::2] = False
        possible[-1] = name == EVENT_TYPE  # which may get new ones
    elif isinstance(dictionary, Strings):
        _rule_out_strings(dictionary.constants, possible)
    elif count:
        constants = dictionary.constants
        above = np.nextafter(constants[:-1], np.inf) if kind == "float" else constants[:-1] + 1
        possible[2:-1:2] = above != constants[1:]
        if kind != "float":
            possible[0], possible[-1] = constants[0] > INT_MIN, constants[-1] < INT_MAX
    return possible


def _rule_out_strings(constants: pa.Array, possible: Flags) -> None:
    """Ends of prefixes are no strings, and a gap is none if the string after its lower end is the upper one."""
    if not len(constants):
        return
    offsets = np.frombuffer(constants.buffers()[1], np.int64)[constants.offset :][: len(constants) + 1]
    data = np.frombuffer(constants.buffers()[2] or b"", np.uint8)
    ends = np.flatnonzero(np.diff(offsets))
    last = np.full(len(constants), 1, np.uint8)
    last[ends] = data[offsets[ends + 1] - 1]
    possible[0] = offsets[1] > offsets[0]
    odd = np.flatnonzero((last == 0) | (last == 0xFF))
    for rank in odd.tolist():
        constant = constants[rank].as_py()
        if constant.endswith(_AFTER_PREFIX):
            possible[2 * rank + 1] = False
            _rule_out_gap(constants, rank, possible)
        elif rank > 0:
            _rule_out_gap(constants, rank - 1, possible)


def _rule_out_gap(constants: pa.Array, rank: int, possible: Flags) -> None:
    """Decides the gap after a constant."""
    constant = constants[rank].as_py()
    following: bytes | None = constant + b"\0"
    if constant.endswith(_AFTER_PREFIX):
        ((_, end),) = prefixed(constant[:-1].decode())
        following = end[1].encode() if len(end) == 3 else None
    if following is None:
        possible[2 * rank + 2] = False
    elif rank + 1 < len(constants):
        possible[2 * rank + 2] = following < constants[rank + 1].as_py()
