"""Sets of regular expressions: thousands decided for the distinct values of a batch, with a cache of recent values."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import Arrays, Int32s
from tamis.matching.patterns.kernels import gather, lower_texts
from tamis.matching.patterns.like import containing
from tamis.matching.patterns.like_set import Hits, LikeSet
from tamis.matching.patterns.metering import Gauge
from tamis.matching.patterns.regex_search import Together, required_literals, search_alone, search_each
from tamis.matching.patterns.texts import Texts, frozen, prefixed, under

# Answers for the values seen last.

# Memory of a cache entry beside its bytes: the objects and their place in the table.
_ENTRY_BYTES = 200


class Recent:
    """LRU cache of answers, value → pattern numbers, up to a number of bytes in all.

    Threads share it: a call holds the lock for a whole batch, and never while anything is computed.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._entries: OrderedDict[bytes, Int32s] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, values: Sequence[bytes]) -> list[Int32s | None]:
        with self._lock:
            found = [self._entries.get(value) for value in values]
            for value, numbers in zip(values, found, strict=True):
                if numbers is not None:
                    self._entries.move_to_end(value)
        return found

    def keep(self, values: Sequence[bytes], answers: Sequence[Int32s]) -> None:
        with self._lock:
            for value, numbers in zip(values, answers, strict=True):
                weight = _weight(value, numbers)
                # A value that would push out a good part of the others is not worth it.
                if value not in self._entries and 16 * weight <= self._most_bytes:
                    self._entries[value] = numbers
                    self._bytes += weight
            while self._bytes > self._most_bytes:
                value, numbers = self._entries.popitem(last=False)
                self._bytes -= _weight(value, numbers)

    def __len__(self) -> int:
        return len(self._entries)


def _weight(value: bytes, numbers: Int32s) -> int:
    return _ENTRY_BYTES + len(value) + numbers.nbytes


# A literal that more patterns than this hang on is a bad gate: each would be run by itself at every sight of it.
_MOST_BEHIND_ONE_LITERAL = 64
# Patterns run alone: how many stay compiled.
_MOST_ALONE = 8192
_RECENT_BYTES = 32 << 20


class Gate(NamedTuple):
    """Literals with the patterns that require each (or another): in the value's lower case, where `lowered`."""

    literals: LikeSet
    owners: Int32s
    lowered: bool

    @classmethod
    def build(cls, literals: Sequence[str], owners: Sequence[int], lowered: bool) -> Gate:
        programs = [containing(literal.encode()) for literal in literals]
        return cls(LikeSet.build(programs), frozen(np.array(owners, np.int32)), lowered)

    def candidates(self, texts: Texts) -> Iterable[tuple[int, set[int]]]:
        """Rows that may match, each with the patterns to be run on it."""
        hits = self.literals.match(lower_texts(texts) if self.lowered else texts)
        owners = self.owners[hits.numbers]
        for row in np.flatnonzero(np.diff(hits.offsets)).tolist():
            yield row, set(owners[hits.offsets[row] : hits.offsets[row + 1]].tolist())


class RegexSet:
    """RE2 patterns, searched for in each distinct value once.

    Where a pattern requires a literal, a gate looks for that, and the pattern is run by itself on the values that have
    it. The others run together, as `re2.Set`s, on every value. Frozen once built, except for what RE2 compiles (which
    cannot be memory-mapped, and is made at first use) and the answers for recent values. Any number of threads match
    at once.
    """

    def __init__(self, patterns: Sequence[str], gates: Sequence[Gate], ungated: Int32s) -> None:
        self._patterns = patterns
        self._gates = gates
        self._ungated = ungated
        self._together: Together | None = None
        self._compiling = threading.Lock()
        self._recent = Recent(_RECENT_BYTES)
        self._alone = functools.lru_cache(_MOST_ALONE)(lambda number: search_alone(patterns[number]))

    @classmethod
    def build(cls, patterns: Sequence[str]) -> RegexSet:
        behind: dict[tuple[str, bool], list[int]] = {}
        ungated: set[int] = set()
        for number, pattern in enumerate(patterns):
            required = required_literals(pattern)
            if not required.literals:
                ungated.add(number)
            for literal in required.literals:
                behind.setdefault((literal, required.lowered), []).append(number)
        for owners in behind.values():
            if len(owners) > _MOST_BEHIND_ONE_LITERAL:
                ungated.update(owners)
        gates = []
        for lowered in (False, True):
            pairs = [
                (literal, owner)
                for (literal, in_lower_case), owners in behind.items()
                if in_lower_case is lowered
                for owner in owners
                if owner not in ungated
            ]
            if pairs:
                gates.append(Gate.build([literal for literal, _ in pairs], [owner for _, owner in pairs], lowered))
        return cls(patterns, gates, frozen(np.array(sorted(ungated), np.int32)))

    @classmethod
    def from_arrays(cls, patterns: Sequence[str], arrays: Arrays) -> RegexSet:
        gates = []
        for lowered in (False, True):
            part = under(_gate_name(lowered), arrays)
            if part:
                gates.append(Gate(LikeSet.from_arrays(part), frozen(part["owners"]), lowered))
        return cls(patterns, gates, frozen(arrays["ungated"]))

    def arrays(self) -> Arrays:
        arrays: Arrays = {"ungated": self._ungated}
        for gate in self._gates:
            arrays |= prefixed(_gate_name(gate.lowered), gate.literals.arrays() | {"owners": gate.owners})
        return arrays

    def match(self, values: pa.Array, gauge: Gauge | None = None) -> Hits:
        """Patterns found in each row, none where it is null; `programs_run` counts those run by themselves."""
        encoded = values.dictionary_encode()
        distinct = encoded.dictionary.cast(pa.large_binary()).to_pylist()
        answers = self._recent.find(distinct)
        unknown = [i for i, numbers in enumerate(answers) if numbers is None]
        run = 0
        if unknown:
            new_values = [distinct[i] for i in unknown]
            new_answers, run = self._decide(Texts.of(encoded.dictionary.take(pa.array(unknown))), new_values, gauge)
            # What is left out now may be run another time.
            if gauge is None or gauge.left_out() is None:
                self._recent.keep(new_values, new_answers)
            for i, numbers in zip(unknown, new_answers, strict=True):
                answers[i] = numbers
        return _spread(encoded.indices, [numbers for numbers in answers if numbers is not None], run)

    def _decide(self, texts: Texts, values: Sequence[bytes], gauge: Gauge | None) -> tuple[list[Int32s], int]:
        found: list[list[int]] = [[] for _ in values]
        run = 0
        for gate in self._gates:
            for row, candidates in gate.candidates(texts):
                run += len(candidates)
                if gauge is None:
                    found[row] += [number for number in candidates if self._alone(number)(values[row])]
                else:
                    searches = ((number, self._alone(number)) for number in sorted(candidates))
                    found[row] += search_each(searches, values[row], gauge)
        if len(self._ungated):
            together = self._compiled_together()
            for row, value in enumerate(values):
                found[row] += together.match(value, gauge)
            run += len(together.alone) * len(values)
        return [np.array(sorted(numbers), np.int32) for numbers in found], run

    def _compiled_together(self) -> Together:
        if self._together is None:
            with self._compiling:
                if self._together is None:
                    self._together = Together(self._patterns, self._ungated.tolist())
        return self._together


def _gate_name(lowered: bool) -> str:
    return "lowered." if lowered else "as_is."


def _spread(indices: pa.Array, answers: Sequence[Int32s], run: int) -> Hits:
    """Answers of the rows, from those of the distinct values; a null index has none."""
    lists = indices.fill_null(-1).to_numpy()
    lengths = np.array([len(numbers) for numbers in answers] + [0], np.int64)
    starts = np.zeros(len(lengths), np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(lengths[lists], out=offsets[1:])
    numbers = np.empty(offsets[-1], np.int32)
    gather(lists, starts, np.concatenate([*answers, np.zeros(0, np.int32)]), offsets, numbers)
    return Hits(offsets, numbers, run)
