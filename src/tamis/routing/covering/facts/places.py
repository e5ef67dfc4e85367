"""Places: gapless numbers for the codes of an attribute that some value really has; kernels for sets of places.

A code (matching/codes/encoding.py) may stand for no value at all: no integer is between 3 and 4, and no value
between two of a listed domain. Among places there are none such, so two sets of values that filters ask for are equal
iff their places are, and one holds the other iff its places do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.arrays import Bools, Int32s, Int64s
from tamis.compiled import bare_kernel
from tamis.language.predicates import INT_MAX, INT_MIN
from tamis.matching.codes.dictionary import Dictionary, Strings
from tamis.routing.covering.exact_values import prefixed
from tamis.schema import EVENT_TYPE, Schema

_AFTER_PREFIX = b"\xff"  # what lowering puts after a prefix: above all strings that begin so, and no string itself


@dataclass(frozen=True)
class Places:
    """Mapping of codes to places by attribute: code c of a is place `below[starts[a] + c]`, place p code
    `codes[firsts[a] + p]`.

    `below` counts the places under each code, and has one more entry an attribute, which counts all of them.
    """

    names: tuple[str, ...]
    starts: Int64s
    below: Int32s
    firsts: Int64s
    codes: Int32s

    @property
    def counts(self) -> Int64s:
        """Number of places of each attribute."""
        return np.diff(self.firsts)

    @classmethod
    def of(cls, names: tuple[str, ...], dictionaries: Mapping[str, Dictionary], schema: Schema) -> Places:
        """Places of attributes with these dictionaries; an attribute without one has a single place, for all its
        values."""
        possible = [_possible(dictionaries[n], n, schema) if n in dictionaries else np.ones(1, np.bool_) for n in names]
        below = [np.concatenate([np.zeros(1, np.int32), np.cumsum(p, dtype=np.int32)]) for p in possible]
        codes = [np.flatnonzero(p).astype(np.int32) for p in possible]
        return cls(
            names, _starts(below), np.concatenate([_NONE, *below]), _starts(codes), np.concatenate([_NONE, *codes])
        )


_NONE = np.zeros(0, np.int32)


def _starts(arrays: list[Int32s]) -> Int64s:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum([len(a) for a in arrays], dtype=np.int64)])


def _possible(dictionary: Dictionary, name: str, schema: Schema) -> Bools:
    """True for codes that some value has: the constants at odd codes, and the gaps between them."""
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


def _rule_out_strings(constants: pa.Array, possible: Bools) -> None:
    """Clears codes of strings that no value has: prefix ends, and a gap whose upper end directly follows its lower
    end."""
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


def _rule_out_gap(constants: pa.Array, rank: int, possible: Bools) -> None:
    """Clears or keeps the gap after a constant."""
    constant = constants[rank].as_py()
    following: bytes | None = constant + b"\0"
    if constant.endswith(_AFTER_PREFIX):
        ((_, end),) = prefixed(constant[:-1].decode())
        following = end[1].encode() if len(end) == 3 else None
    if following is None:
        possible[2 * rank + 2] = False
    elif rank + 1 < len(constants):
        possible[2 * rank + 2] = following < constants[rank + 1].as_py()


# Hash table of kept sets: open addressing over flat arrays, each set of places once under a number.

# Indexes into the counters: kept ranges, sets, facts and conjunctions.
SETS, RANGES, FACTS, CONJUNCTIONS = range(4)


@bare_kernel
def hash_set(attribute: int, lows: Any, highs: Any, start: int, n: int) -> Any:
    value = np.uint64(attribute + 1) * np.uint64(0x9E3779B97F4A7C15)
    for i in range(start, start + n):
        value = (value ^ np.uint64(lows[i])) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(29)) ^ np.uint64(highs[i])) * np.uint64(0x94D049BB133111EB)
        value ^= value >> np.uint64(31)
    return value


@bare_kernel
def kept_set(attribute: int, sets: Any, at: int, n: int, extents: Any, counters: Any) -> int:
    """Number under which a set of an attribute's places is kept; a new one if it is not kept yet."""
    offsets, lows, highs, owners, table = extents
    new_lows, new_highs = sets
    mask = len(table) - 1
    slot = np.int64(hash_set(attribute, new_lows, new_highs, at, n) & np.uint64(mask))
    while table[slot] >= 0:
        known = table[slot]
        start = offsets[known]
        if owners[known] == attribute and offsets[known + 1] - start == n:
            i = 0
            while i < n and lows[start + i] == new_lows[at + i] and highs[start + i] == new_highs[at + i]:
                i += 1
            if i == n:
                return known
        slot = (slot + 1) & mask
    number, end = counters[SETS], counters[RANGES]
    for i in range(n):
        lows[end + i], highs[end + i] = new_lows[at + i], new_highs[at + i]
    owners[number], offsets[number + 1], table[slot] = attribute, end + n, number
    counters[SETS], counters[RANGES] = number + 1, end + n
    return number


@bare_kernel
def enter_sets(extents: Any, count: int) -> None:
    """Fills an empty hash table with the sets kept so far."""
    offsets, lows, highs, owners, table = extents
    mask = len(table) - 1
    for number in range(count):
        start = offsets[number]
        slot = np.int64(hash_set(owners[number], lows, highs, start, offsets[number + 1] - start) & np.uint64(mask))
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number


# Set operations over ascending, disjoint ranges that do not touch: `lows[i] <= place <= highs[i]`.
#
# A set in working memory is a stretch of two arrays, `sets`, the lows and the highs: it is named by where it begins,
# and has as many ranges as the function that wrote it returned.


@bare_kernel
def whole(count: int, sets: Any, out: int) -> int:
    """Set of all places."""
    sets[0][out], sets[1][out] = 0, count - 1
    return 1


@bare_kernel
def of_codes(below: Any, start: int, codes: int, low: int, high: int, sets: Any, out: int) -> int:
    """Set of the places among the codes from low to high; open ends are clipped to the attribute's `codes` codes."""
    first = below[start + min(max(low, 0), codes)]
    last = below[start + min(max(high, -1), codes - 1) + 1] - 1
    sets[0][out], sets[1][out] = first, last
    return 1 if first <= last else 0


@bare_kernel
def of_list(below: Any, start: int, listed: Any, begin: int, end: int, sets: Any, out: int) -> int:
    """Set of the places of listed codes, ascending."""
    n = 0
    for i in range(begin, end):
        place = below[start + listed[i]]
        if below[start + listed[i] + 1] == place:
            continue
        if n > 0 and sets[1][out + n - 1] + 1 >= place:
            sets[1][out + n - 1] = place
        else:
            sets[0][out + n], sets[1][out + n] = place, place
            n += 1
    return n


@bare_kernel
def intersect(sets: Any, a: int, na: int, b: int, nb: int, out: int) -> int:
    """Intersection of two sets."""
    i = j = n = 0
    while i < na and j < nb:
        low, high = max(sets[0][a + i], sets[0][b + j]), min(sets[1][a + i], sets[1][b + j])
        if low <= high:
            sets[0][out + n], sets[1][out + n] = low, high
            n += 1
        if sets[1][a + i] <= sets[1][b + j]:
            i += 1
        else:
            j += 1
    return n


@bare_kernel
def subtract(sets: Any, a: int, na: int, b: int, nb: int, out: int) -> int:
    """Difference of two sets: the places of the first that are not in the second."""
    j = n = 0
    for i in range(na):
        low, high = sets[0][a + i], sets[1][a + i]
        while j < nb and sets[1][b + j] < low:
            j += 1
        k = j
        while k < nb and sets[0][b + k] <= high:
            if sets[0][b + k] > low:
                sets[0][out + n], sets[1][out + n] = low, sets[0][b + k] - 1
                n += 1
            low = sets[1][b + k] + 1
            k += 1
        if low <= high:
            sets[0][out + n], sets[1][out + n] = low, high
            n += 1
    return n


@bare_kernel
def copy_set(sets: Any, a: int, n: int, out: int) -> None:
    for i in range(n):
        sets[0][out + i], sets[1][out + i] = sets[0][a + i], sets[1][a + i]


@bare_kernel
def holds_all(offsets: Any, lows: Any, highs: Any, large: int, small: int) -> bool:
    """True if one kept set has all places of another."""
    if large == small:
        return True
    i, stop = offsets[large], offsets[large + 1]
    for j in range(offsets[small], offsets[small + 1]):
        while i < stop and highs[i] < lows[j]:
            i += 1
        if i == stop or lows[i] > lows[j] or highs[i] < highs[j]:
            return False
    return True
