"""Facts about an attribute's patterns: the constants that each matches, and the patterns that it implies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tamis.arrays import Int32s, Int64s
from tamis.language.patterns import Wildcard, read_like
from tamis.language.predicates import Like
from tamis.matching.codes.dictionary import Dictionary, Strings
from tamis.matching.patterns import PatternSet
from tamis.routing.covering.pattern_implications import pattern_implies

_MOST_HITS = 50_000_000  # of constants, beyond which nothing is known of them
_MOST_PAIRS = 2_000_000  # of patterns that are compared with each other


@dataclass(frozen=True)
class Runs:
    """Of attribute a, item i has the numbers `numbers[offsets[bases[a] + i]:offsets[bases[a] + i + 1]]`, ascending.

    `bases[a]` is -1 where nothing is known.
    """

    bases: Int64s
    offsets: Int64s
    numbers: Int32s

    @classmethod
    def of(cls, parts: list[tuple[Int64s, Int32s] | None]) -> Runs:
        bases, offsets, numbers = [], [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
        base = end = 0
        for part in parts:
            if part is None:
                bases.append(-1)
                continue
            bases.append(base)
            offsets.append(part[0] + end)
            numbers.append(part[1])
            base, end = base + len(part[0]), end + len(part[1])
        return cls(np.array(bases, np.int64), np.concatenate(offsets), np.concatenate(numbers))

    @property
    def flat(self) -> tuple[Int64s, Int64s, Int32s]:
        """Arrays of it for kernels."""
        return self.bases, self.offsets, self.numbers


def constants_hit(
    names: tuple[str, ...], patterns: Mapping[str, PatternSet], dictionaries: Mapping[str, Dictionary]
) -> Runs:
    """For each constant, by rank, the patterns that it matches."""
    parts: list[tuple[Int64s, Int32s] | None] = []
    for name in names:
        dictionary = dictionaries.get(name)
        if name not in patterns or not isinstance(dictionary, Strings):
            parts.append(None)
            continue
        # An end of a prefix is no string, and matches nothing.
        raw = dictionary.constants.to_pylist()
        texts = pa.array([None if c.endswith(b"\xff") else c.decode() for c in raw], pa.large_string())
        offsets, numbers = patterns[name].match(texts)
        parts.append((offsets, numbers) if len(numbers) <= _MOST_HITS else None)
    return Runs.of(parts)


def implied_patterns(names: tuple[str, ...], patterns: Mapping[str, PatternSet]) -> Runs:
    """For each pattern those that hold wherever it does, itself among them."""
    return Runs.of([_implied(patterns[name]) if name in patterns else None for name in names])


def _implied(patterns: PatternSet) -> tuple[Int64s, Int32s]:
    """Only patterns that match examples of another one are compared with it."""
    known = [patterns.pattern(number) for number in range(len(patterns))]
    likes = [number for number, pattern in enumerate(known) if isinstance(pattern, Like)]
    found: list[list[int]] = [[number] for number in range(len(known))]
    if likes:
        candidates = _matching(patterns, [_example(known[k], "") for k in likes])
        fuller = _matching(patterns, [_example(known[k], "\U000f0000") for k in likes])
        pairs = sum(map(len, candidates))
        for number, some, others in zip(likes, candidates, fuller, strict=True):
            if pairs > _MOST_PAIRS:
                break
            both = sorted(set(some) & set(others) | {number})
            found[number] = [other for other in both if other == number or pattern_implies(known[number], known[other])]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(some) for some in found], dtype=np.int64)])
    return offsets, np.array([other for some in found for other in some], np.int32)


def _matching(patterns: PatternSet, texts: list[str]) -> list[list[int]]:
    offsets, numbers = patterns.match(pa.array(texts, pa.large_string()))
    return [numbers[a:b].tolist() for a, b in pairwise(offsets.tolist())]


def _example(pattern: object, run: str) -> str:
    """A string that a LIKE takes, with a letter nobody asks for in place of `_`, and such a run in place of `%`."""
    assert isinstance(pattern, Like)
    parts = read_like(str(pattern.pattern)) or []
    unusual = "\U000f0000"
    return "".join(p if isinstance(p, str) else unusual if p is Wildcard.ONE else run for p in parts)
