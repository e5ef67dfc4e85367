"""Thousands of regular expressions decided for the distinct values of a batch."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa
import re2

from tamis.matching.patterns.kernels import gather
from tamis.matching.patterns.like import containing
from tamis.matching.patterns.like_set import Hits, LikeSet
from tamis.matching.patterns.lowercase import lower_texts
from tamis.matching.patterns.recent import Numbers, Recent
from tamis.matching.patterns.required_literals import required_literals
from tamis.matching.patterns.texts import Arrays, Texts, frozen, prefixed, under

# A literal that more patterns than this hang on is a bad gate: each would be run by itself at every sight of it.
_MOST_BEHIND_ONE_LITERAL = 64
_MOST_IN_ONE_SET = 4096
_SET_MEMORY = 64 << 20
# Patterns run alone: how many stay compiled, and the memory that each may come to use.
_MOST_ALONE = 8192
_ALONE_MEMORY = 1 << 20
_RECENT_BYTES = 32 << 20

# Value → the positions of the patterns found in it, or something false.
Search: TypeAlias = Callable[[bytes], Any]


class Gate(NamedTuple):
    """Literals, and for each the pattern that requires it or another: in the value's lower case, where `lowered`."""

    literals: LikeSet
    owners: Numbers
    lowered: bool

    @classmethod
    def build(cls, literals: Sequence[str], owners: Sequence[int], lowered: bool) -> Gate:
        programs = [containing(literal.encode()) for literal in literals]
        return cls(LikeSet.build(programs), frozen(np.array(owners, np.int32)), lowered)

    def candidates(self, texts: Texts) -> Iterable[tuple[int, set[int]]]:
        """The rows that may match, each with the patterns to be run on it."""
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

    def __init__(self, patterns: Sequence[str], gates: Sequence[Gate], ungated: Numbers) -> None:
        self._patterns = patterns
        self._gates = gates
        self._ungated = ungated
        self._together: _Together | None = None
        self._compiling = threading.Lock()
        self._recent = Recent(_RECENT_BYTES)
        self._alone = functools.lru_cache(_MOST_ALONE)(lambda number: _search_alone(patterns[number]))

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

    def match(self, values: pa.Array) -> Hits:
        """The patterns found in each row, none where it is null; `programs_run` counts those run by themselves."""
        encoded = values.dictionary_encode()
        distinct = encoded.dictionary.cast(pa.large_binary()).to_pylist()
        answers = self._recent.find(distinct)
        unknown = [i for i, numbers in enumerate(answers) if numbers is None]
        run = 0
        if unknown:
            new_values = [distinct[i] for i in unknown]
            new_answers, run = self._decide(Texts.of(encoded.dictionary.take(pa.array(unknown))), new_values)
            self._recent.keep(new_values, new_answers)
            for i, numbers in zip(unknown, new_answers, strict=True):
                answers[i] = numbers
        return _spread(encoded.indices, [numbers for numbers in answers if numbers is not None], run)

    def _decide(self, texts: Texts, values: Sequence[bytes]) -> tuple[list[Numbers], int]:
        found: list[list[int]] = [[] for _ in values]
        run = 0
        for gate in self._gates:
            for row, candidates in gate.candidates(texts):
                run += len(candidates)
                found[row] += [number for number in candidates if self._alone(number)(values[row])]
        if len(self._ungated):
            together = self._compiled_together()
            for row, value in enumerate(values):
                found[row] += together.match(value)
            run += len(together.alone) * len(values)
        return [np.array(sorted(numbers), np.int32) for numbers in found], run

    def _compiled_together(self) -> _Together:
        if self._together is None:
            with self._compiling:
                if self._together is None:
                    self._together = _Together(self._patterns, self._ungated.tolist())
        return self._together


class _Together:
    """Patterns compiled into as few sets as RE2 takes them, and alone where a single one is too much for a set."""

    def __init__(self, patterns: Sequence[str], numbers: Sequence[int]) -> None:
        self.sets: list[tuple[Search, Sequence[int]]] = []
        self.alone: list[tuple[Search, int]] = []
        waiting = [numbers[i : i + _MOST_IN_ONE_SET] for i in range(0, len(numbers), _MOST_IN_ONE_SET)]
        while waiting:
            part = waiting.pop()
            try:
                self.sets.append((_search_together([patterns[number] for number in part], _SET_MEMORY), part))
            except re2.error:
                if len(part) == 1:
                    self.alone.append((_search_alone(patterns[part[0]]), part[0]))
                else:
                    waiting += [part[: len(part) // 2], part[len(part) // 2 :]]

    def match(self, value: bytes) -> list[int]:
        found = [part[i] for search, part in self.sets for i in search(value) or ()]
        return found + [number for search, number in self.alone if search(value)]


def _gate_name(lowered: bool) -> str:
    return "lowered." if lowered else "as_is."


def _search_together(patterns: Sequence[str], memory: int) -> Search:
    """Searches for all of them at once; `re2.error` where that is too much for RE2."""
    options = _options()
    options.max_mem = memory
    together = re2.Set.SearchSet(options)
    for pattern in patterns:
        together.Add(pattern)
    together.Compile()
    return cast(Search, together.Match)


def _search_alone(pattern: str) -> Search:
    """Searches for one. A set of one answers in half the time, having no position to tell."""
    try:
        return _search_together([pattern], _ALONE_MEMORY)
    except re2.error:
        return cast(Search, re2.compile(pattern, _options()).search)


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return options


def _spread(indices: pa.Array, answers: Sequence[Numbers], run: int) -> Hits:
    """Each row's answer, from those of the distinct values; a null index has none."""
    lists = indices.fill_null(-1).to_numpy()
    lengths = np.array([len(numbers) for numbers in answers] + [0], np.int64)
    starts = np.zeros(len(lengths), np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(lengths[lists], out=offsets[1:])
    numbers = np.empty(offsets[-1], np.int32)
    gather(lists, starts, np.concatenate([*answers, np.zeros(0, np.int32)]), offsets, numbers)
    return Hits(offsets, numbers, run)
