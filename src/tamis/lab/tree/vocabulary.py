"""Vocabulary of the matching tree: integer keys of values and constants, which never change, and the dictionaries of
strings behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Arrays, Int64s
from tamis.compiled import bare_kernel
from tamis.lab.tree.layout import HIGHEST, LOWEST
from tamis.language.predicates import Like, RLike
from tamis.matching.base.flat_arrays import extended
from tamis.matching.codes.columns import Column, Encoder, Kind
from tamis.matching.codes.constants import OPEN_HIGH, OPEN_LOW, Constants, Edge, Fixed, Ranked, Ref
from tamis.matching.codes.dictionary import Strings, address, power_of_two, validity
from tamis.matching.codes.encoding import hash_at, is_present, same_bytes
from tamis.matching.codes.intrinsics import read_int32, read_int64
from tamis.matching.patterns import PatternSet
from tamis.schema import EnumeratedDomain, HierarchicalDomain, Schema

# Strings by number: a growing dictionary, in which a string keeps its number.


UNKNOWN = -1


@bare_kernel
def number_words(
    texts: int, starts: int, wide: bool, valid: int, bit: int, data: int, offsets: Any, table: Any, numbers: Any
) -> None:
    """Numbers of the strings of an Arrow array, UNKNOWN for new ones; the dictionary stays as it is."""
    mask = len(table) - 1
    for row in range(len(numbers)):
        numbers[row] = UNKNOWN
        if not is_present(valid, bit + row):
            continue
        if wide:
            start, stop = read_int64(starts, row), read_int64(starts, row + 1)
        else:
            start, stop = np.int64(read_int32(starts, row)), np.int64(read_int32(starts, row + 1))
        numbers[row] = find_word(texts + start, stop - start, data, offsets, table, mask)


@bare_kernel
def find_word(text: int, size: int, data: int, offsets: Any, table: Any, mask: int) -> Any:
    slot = np.int64(hash_at(text, size, text)) & mask
    while table[slot] >= 0:
        start = offsets[table[slot]]
        if offsets[table[slot] + 1] - start == size and same_bytes(data + start, text, size):
            return np.int64(table[slot])
        slot = (slot + 1) & mask
    return np.int64(UNKNOWN)


@bare_kernel
def enter_words(data: int, offsets: Any, first: int, last: int, table: Any) -> None:
    """Inserts the strings of these numbers into the hash table."""
    mask = len(table) - 1
    for number in range(first, last):
        start = offsets[number]
        slot = np.int64(hash_at(data + start, offsets[number + 1] - start, data + start)) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number


class Words:
    """Dictionary of UTF-8 strings: one after the other in a buffer that doubles, and a hash table of their numbers.

    Nothing is ever taken out: a constant that no subscription uses any more keeps its number and its few bytes.
    Numbers are looked up by several threads at once; strings are added by one, while nobody looks.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        if arrays is None:
            arrays = {"data": np.zeros(64, np.uint8), "offsets": np.zeros(16, np.int64), "count": np.zeros(1, np.int64)}
        self._data, self._offsets, self._count = arrays["data"], arrays["offsets"], int(arrays["count"][0])
        self._table = np.full(power_of_two(2 * max(16, len(self._offsets))), -1, np.int32)
        enter_words(address(self._data), self._offsets, 0, self._count, self._table)

    def arrays(self) -> Arrays:
        offsets = self._offsets[: self._count + 1]
        return {"data": self._data[: offsets[-1]], "offsets": offsets, "count": np.array([self._count], np.int64)}

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return self._data.nbytes + self._offsets.nbytes + self._table.nbytes

    def numbers(self, texts: pa.Array) -> Int64s:
        """Numbers of strings or binaries; UNKNOWN for new ones and nulls."""
        found = np.empty(len(texts), np.int64)
        wide = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
        _, starts, data = texts.buffers()
        if len(texts):
            at = (starts.address if starts is not None else 0) + (8 if wide else 4) * texts.offset
            number_words(
                0 if data is None else data.address, at, wide, validity(texts), texts.offset, address(self._data),
                self._offsets, self._table, found,
            )  # fmt: skip
        return found

    def add(self, texts: pa.Array) -> Int64s:
        """Numbers of strings or binaries, none of them null; new ones get the next numbers."""
        found = self.numbers(texts)
        missing = np.flatnonzero(found == UNKNOWN)
        if len(missing):
            new = texts.take(pa.array(missing)).cast(pa.large_binary()).unique()
            self._append(new)
            found[missing] = self.numbers(texts.take(pa.array(missing)))
        return found

    def words(self, numbers: Int64s) -> pa.Array:
        """Strings of these numbers, as large_binary."""
        buffers = [None, pa.py_buffer(self._offsets[: self._count + 1]), pa.py_buffer(self._data)]
        return pa.Array.from_buffers(pa.large_binary(), self._count, buffers).take(pa.array(numbers))

    def _append(self, new: pa.Array) -> None:
        offsets = np.frombuffer(new.buffers()[1], np.int64)[new.offset : new.offset + len(new) + 1]
        data = np.frombuffer(new.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
        count, end = self._count + len(new), int(self._offsets[self._count])
        self._offsets = extended(self._offsets, count + 1)
        self._data = extended(self._data, end + len(data) + 8)
        self._offsets[self._count : count + 1] = offsets - offsets[0] + end
        self._data[end : end + len(data)] = data
        first, self._count = self._count, count
        if 2 * count > len(self._table):
            self._table, first = np.full(power_of_two(4 * count), -1, np.int32), 0
        enter_words(address(self._data), self._offsets, first, count, self._table)


_MAGNITUDE = np.int64(2**63 - 1)


class Source(NamedTuple):
    """Source of a level of the tree, or of a test. `ranked`: strings by their place among the ordered constants."""

    column: Column
    ranked: bool = False


class Given(Constants):
    """Constants of some new subscriptions, collected unchanged."""

    def values(self, ref: Ref) -> Any:
        return self._given[ref.attribute][ref.index]


def float_keys(values: npt.NDArray[np.float64]) -> Int64s:
    """Integers in the order of the floats; -0.0 is 0.0."""
    bits = (values + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & _MAGNITUDE)


class Vocabulary:
    """Keys by attribute: numbers are their own (floats as integers of the same order), listed values twice their
    position plus 1.

    Strings are numbered as they come. That says nothing of their order: strings that are compared by order have a
    place among the sorted constants of such comparisons besides, which moves when constants are added, so the tree
    cannot hold them. `settle` sorts them anew, and builds the pattern sets of attributes that have new patterns.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.sources: list[Source] = []
        self.numbers: dict[Source, int] = {}
        self.words: dict[str, Words] = {}
        self.ordered: dict[str, dict[int, None]] = {}
        self.patterns: dict[str, dict[Like | RLike, int]] = {}
        self.ranks: dict[str, Int64s] = {}
        self._dictionaries: dict[str, Strings] = {}
        self._sets: dict[str, PatternSet] = {}
        self._listed: dict[str, Words] = {}
        self.side: Encoder | None = None
        self._moved: set[str] = set()
        self._unsettled = False

    def number(self, source: Source) -> int:
        """Column of the source in encoded events, which is its level in the tree too."""
        known = self.numbers.get(source)
        if known is None:
            known = self.numbers[source] = len(self.sources)
            self.sources.append(source)
            self._unsettled |= source.ranked or source.column.kind in (Kind.VERSUS, Kind.PATTERNS)
        return known

    def words_of(self, attribute: str) -> Words:
        """Dictionary of an attribute; of a listed domain, its values in order."""
        domain = self.schema.attributes[attribute].domain
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            if attribute not in self._listed:
                listed = Words()
                listed.add(pa.array(domain.values, pa.large_string()))
                self._listed[attribute] = listed
            return self._listed[attribute]
        return self.words.setdefault(attribute, Words())

    def source_of(self, column: Column, low: Edge, high: Edge) -> Source:
        """Source in which an interval is looked up: by order where strings are compared by it."""
        by_order = low is not high and (isinstance(low, Ranked) or isinstance(high, Ranked))
        plain = column.kind in (Kind.VERSUS, Kind.PATTERNS)
        text = not plain and self.schema.attributes[column.attribute].domain.kind == "string"
        return Source(column, by_order and text)

    def keys(self, source: Source, edge: Edge, given: Given, patterns: dict[str, Int64s]) -> Int64s:
        """Keys of an edge. Of a ranked source: four times the constant's number, plus the step."""
        if edge is OPEN_LOW or edge is OPEN_HIGH:
            return np.array([LOWEST if edge is OPEN_LOW else HIGHEST])
        attribute = source.column.attribute
        if isinstance(edge, Fixed):
            return patterns[attribute][edge.values // 2] if source.column.kind is Kind.PATTERNS else edge.values
        assert isinstance(edge, Ranked)
        values = given.values(edge.ref)
        domain = self.schema.attributes[attribute].domain
        if domain.kind == "float":
            return float_keys(np.asarray(values, np.float64).reshape(-1)) + (edge.step - 1)
        if domain.kind == "string":
            numbers = self.words_of(attribute).add(_strings(values))
            return 4 * numbers + edge.step if source.ranked else numbers
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            return 2 * self.words_of(attribute).numbers(_strings(values)) + edge.step
        whole = np.asarray(values, np.int64).reshape(-1)
        return 2 * whole + edge.step if domain.kind == "boolean" else whole + (edge.step - 1)

    def order(self, attribute: str, keys: Int64s) -> None:
        """Adds constants (as ranked keys) among which values of the attribute must be ordered."""
        known = self.ordered.setdefault(attribute, {})
        count = len(known)
        known.update(dict.fromkeys(np.unique(keys[(keys != LOWEST) & (keys != HIGHEST)] >> 2).tolist()))
        if len(known) != count:
            self._dictionaries.pop(attribute, None)
        self._moved.add(attribute)
        self._unsettled = True

    def pattern_numbers(self, given: dict[str, dict[Like | RLike, int]]) -> dict[str, Int64s]:
        """Lasting numbers of patterns that had temporary ones."""
        found = {}
        for attribute, some in given.items():
            known = self.patterns.setdefault(attribute, {})
            for pattern in some:
                if pattern not in known:
                    known[pattern] = len(known)
                    self._sets.pop(attribute, None)
                    self._unsettled = True
            found[attribute] = np.array([known[pattern] for pattern in some], np.int64)
        return found

    @property
    def sets(self) -> Mapping[str, PatternSet]:
        """Patterns of each attribute, by their lasting numbers, as they were when last settled."""
        return self._sets

    @property
    def unsettled(self) -> bool:
        return self._unsettled

    def settle(self) -> set[str]:
        """Sorts and builds what encoding needs; returns the attributes whose ordered comparisons must be updated."""
        for attribute in self.ordered.keys() - self._dictionaries.keys():
            self._rank(attribute)
        for attribute in self.patterns.keys() - self._sets.keys():
            self._sets[attribute] = PatternSet.build(list(self.patterns[attribute]))
        side = {
            source.column
            for source in self.sources
            if source.ranked or source.column.kind in (Kind.VERSUS, Kind.PATTERNS)
        }
        columns = tuple(sorted(side, key=lambda column: (column.kind.is_set, column)))
        self.side = Encoder(columns, self._dictionaries, self._sets, self.schema) if columns else None
        moved, self._moved, self._unsettled = self._moved, set(), False
        return moved

    def _rank(self, attribute: str) -> None:
        numbers = np.array(list(self.ordered[attribute]), np.int64)
        constants = self.words_of(attribute).words(numbers)
        order = np.asarray(pc.array_sort_indices(constants)).astype(np.int64)
        ranks = np.zeros(len(self.words_of(attribute)), np.int64)
        ranks[numbers[order]] = np.arange(len(numbers))
        self.ranks[attribute] = ranks
        self._dictionaries[attribute] = Strings.build(constants.take(pa.array(order)), ordered=True)

    def ranked(self, attribute: str, keys: Int64s) -> Int64s:
        """Ranked keys as codes of the side encoder."""
        closed = (keys != LOWEST) & (keys != HIGHEST)
        codes = keys.copy()
        codes[closed] = 2 * self.ranks[attribute][keys[closed] >> 2] + (keys[closed] & 3)
        return codes

    @property
    def nbytes(self) -> int:
        return sum(words.nbytes for words in self.words.values())

    def about(self) -> dict[str, Any]:
        """State except the strings, as JSON."""
        sources = [
            [s.column.kind.value, s.column.attribute, s.column.operator, s.column.other, s.ranked] for s in self.sources
        ]
        patterns = {
            attribute: [[isinstance(p, RLike), p.pattern, isinstance(p, Like) and p.ignore_case] for p in some]
            for attribute, some in self.patterns.items()
        }
        ordered = {attribute: list(some) for attribute, some in self.ordered.items()}
        return {"sources": sources, "patterns": patterns, "ordered": ordered, "words": list(self.words)}

    def arrays(self) -> Arrays:
        return {
            f"{i}.{name}": array
            for i, words in enumerate(self.words.values())
            for name, array in words.arrays().items()
        }

    @classmethod
    def restore(cls, schema: Schema, about: dict[str, Any], arrays: Arrays) -> Vocabulary:
        vocabulary = cls(schema)
        for i, attribute in enumerate(about["words"]):
            vocabulary.words[attribute] = Words({name: arrays[f"{i}.{name}"] for name in ("data", "offsets", "count")})
        for attribute, some in about["ordered"].items():
            vocabulary.ordered[attribute] = dict.fromkeys(some)
            # It may have been saved before it was settled.
            vocabulary._moved.add(attribute)
        for attribute, patterns in about["patterns"].items():
            vocabulary.patterns[attribute] = {
                RLike(attribute, text) if regular else Like(attribute, text, ignore_case): i
                for i, (regular, text, ignore_case) in enumerate(patterns)
            }
        for kind, attribute, operator, other, ranked in about["sources"]:
            vocabulary.number(Source(Column(Kind(kind), attribute, operator, other), ranked))
        return vocabulary


def _strings(values: Any) -> pa.Array:
    if isinstance(values, str | bytes):
        return pa.array([values.encode() if isinstance(values, str) else values], pa.large_binary())
    return values
