"""Facts of many conjunctions in one normal form, which the search for covers compares; and tables of pattern
implications.

Every conjunction and every set of places is kept once, so equal conjunctions have one number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int8s, Int32s, Int64s
from tamis.language.patterns import Wildcard, read_like
from tamis.language.predicates import Like
from tamis.matching.base.flat_arrays import doubled
from tamis.matching.codes.columns import Encoder, Kind
from tamis.matching.codes.dictionary import Dictionary, Strings
from tamis.matching.codes.encoding import LISTED, Conjuncts
from tamis.matching.patterns import PatternSet
from tamis.routing.covering.exact_values import pattern_implies
from tamis.routing.covering.facts.kernels import EVERY, enter_conjunctions, gather
from tamis.routing.covering.facts.places import CONJUNCTIONS, FACTS, RANGES, SETS, Places, enter_sets
from tamis.schema import EVENT_TYPE, Schema

# Patterns of an attribute: the constants that each matches, and the patterns that it implies.

_MOST_HITS = 50_000_000  # of constants, beyond which nothing is known of them
_MOST_PAIRS = 2_000_000  # of patterns that are compared with each other


@dataclass(frozen=True)
class Runs:
    """Lists of numbers by attribute and item: a's item i has `numbers[offsets[bases[a] + i]:offsets[bases[a] + i +
    1]]`, ascending.

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
        """Arrays of the runs for kernels."""
        return self.bases, self.offsets, self.numbers


def constants_hit(
    names: tuple[str, ...], patterns: Mapping[str, PatternSet], dictionaries: Mapping[str, Dictionary]
) -> Runs:
    """For each constant, by rank, the patterns that match it."""
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
    """For each pattern all patterns that it implies, itself among them."""
    return Runs.of([_implied(patterns[name]) if name in patterns else None for name in names])


def _implied(patterns: PatternSet) -> tuple[Int64s, Int32s]:
    """Implications between patterns; a pattern is compared only with those that match an example of it."""
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
    """Example string of a LIKE pattern: an unused letter in place of `_`, and a run of that letter in place of `%`."""
    assert isinstance(pattern, Like)
    parts = read_like(str(pattern.pattern)) or []
    unusual = "\U000f0000"
    return "".join(p if isinstance(p, str) else unusual if p is Wildcard.ONE else run for p in parts)


_KINDS = (Kind.VALUE, Kind.LEAST, Kind.GREATEST, Kind.VERSUS, Kind.VALUES, Kind.PATTERNS)


@dataclass(frozen=True)
class Facts:
    """Distinct conjunctions d, each with facts `offsets[d]:offsets[d + 1]`, ascending by attribute, kind, number.

    A fact is about attribute `names[attributes[f]]`. Its kind (kernels.py) says what `numbers[f]` is: a set of places,
    a pattern, a column. An attribute that is present has one EVERY; that all its values are as they may be is said by
    the set of all places. Set s has ranges `set_offsets[s]:set_offsets[s + 1]`. Each set and each conjunction is there
    once, so equal facts have equal numbers, and conjunctions that ask for the same (patterns and comparisons of
    attributes taken as they are) are one.
    """

    names: tuple[str, ...]
    multiple: npt.NDArray[np.bool_]
    places: Places
    offsets: Int64s
    attributes: Int32s
    kinds: Int8s
    numbers: Int32s
    set_offsets: Int64s
    lows: Int32s
    highs: Int32s
    hits: Runs
    implied: Runs
    others: Int32s
    """The second attribute of each column that compares two."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def flat(self) -> tuple[Any, ...]:
        """Arrays of the facts for kernels."""
        return self.offsets, self.attributes, self.kinds, self.numbers

    @property
    def sets(self) -> tuple[Any, ...]:
        """Arrays of the sets for kernels."""
        return self.set_offsets, self.lows, self.highs

    @property
    def patterns(self) -> tuple[Any, ...]:
        """Arrays of the patterns for kernels: constants hit, patterns implied, and constants by place."""
        return self.hits.flat, self.implied.flat, self.places.firsts, self.places.codes

    @property
    def allows_all(self) -> npt.NDArray[np.bool_]:
        """Facts that require of an attribute no more than its presence."""
        every = self.kinds == EVERY
        whole = every.copy()
        whole[every] = self.sizes[self.numbers[every]] == self.places.counts[self.attributes[every]]
        return whole

    @property
    def sizes(self) -> Int64s:
        """Number of places of each set."""
        return _summed(self.highs.astype(np.int64) - self.lows + 1, self.set_offsets)


def facts_of(conjuncts: Conjuncts, encoder: Encoder, schema: Schema) -> tuple[Facts, Int32s]:
    """Facts of conjunctions, and for each conjunction its number among them, or -1 if no event can satisfy it."""
    names = tuple(dict.fromkeys(n for c in encoder.columns for n in (c.attribute, c.other) if n))
    number = {name: k for k, name in enumerate(names)}
    places = Places.of(names, encoder.dictionaries, schema)
    hits = constants_hit(names, encoder.patterns, encoder.dictionaries)
    implied = implied_patterns(names, encoder.patterns)
    kinds = np.array([_KINDS.index(c.kind) for c in encoder.columns], np.int8)
    firsts = np.array([number[c.attribute] for c in encoder.columns], np.int32)
    others = np.array([number.get(c.other, -1) for c in encoder.columns], np.int32)
    multiple = np.array([schema.attributes[name].multiple for name in names], np.bool_)
    always = np.array([n == EVENT_TYPE and schema.default_event_type is not None for n in names], np.bool_)
    c = conjuncts
    tests = (c.test_columns, c.test_flags, c.test_lows, c.test_highs)
    said = (c.offsets, c.columns, c.lows, c.highs, c.test_offsets, c.tests, tests, c.listed)
    sizes, somes, raw = _largest(conjuncts)
    kept = _Kept(len(conjuncts), room=(somes + raw, sizes * (1 + somes), raw))
    distinct = np.empty(len(conjuncts), np.int32)
    patterns = (hits.flat, implied.flat)
    spans = (places.starts, places.below, places.firsts, places.codes)
    sets = np.empty(3 * (sizes + 2), np.int32), np.empty(3 * (sizes + 2), np.int32)
    things, done = np.empty((raw, 4), np.int64), 0
    while done < len(conjuncts):
        done = gather(
            done, said, (kinds, firsts, others), spans, (multiple, always), patterns, things, sets, kept.extents,
            kept.facts, kept.offsets, kept.table, kept.counters, kept.room, distinct,
        )  # fmt: skip
        if done < len(conjuncts):
            kept.grow()
    known: dict[str, Any] = {"hits": hits, "implied": implied, "others": others}
    return Facts(names=names, multiple=multiple, places=places, **kept.parts(), **known), distinct


class _Kept:
    """Growing arrays that `gather` writes to."""

    def __init__(self, count: int, room: tuple[int, int, int]) -> None:
        self.room = np.array(room, np.int64)
        self.counters = np.zeros(4, np.int64)
        sets, ranges, facts = (max(1024, 4 * least) for least in room)
        conjunctions = max(1024, count // 8)
        self._extents: list[npt.NDArray[Any]] = [np.zeros(sets + 1, np.int64)]
        self._extents += [np.empty(ranges, np.int32), np.empty(ranges, np.int32)]
        self._extents.append(np.empty(sets, np.int32))
        self._facts: list[npt.NDArray[Any]] = [np.empty(facts, kind) for kind in (np.int32, np.int8, np.int32)]
        self.offsets = np.zeros(conjunctions + 1, np.int64)
        self._sets_table = _table(sets)
        self.table = _table(conjunctions)

    @property
    def extents(self) -> tuple[Any, ...]:
        return (*self._extents, self._sets_table)

    @property
    def facts(self) -> tuple[Any, ...]:
        return tuple(self._facts)

    def grow(self) -> None:
        """Doubles every array that is half full."""
        used = self.counters + np.array([*self.room, 1])
        if 2 * used[SETS] > len(self._extents[3]):
            self._extents[0], self._extents[3] = doubled(self._extents[0]), doubled(self._extents[3])
            self._sets_table = _table(len(self._extents[3]))
            enter_sets(self.extents, self.counters[SETS])
        if 2 * used[RANGES] > len(self._extents[1]):
            self._extents[1], self._extents[2] = doubled(self._extents[1]), doubled(self._extents[2])
        if 2 * used[FACTS] > len(self._facts[0]):
            self._facts = [doubled(array) for array in self._facts]
        if 2 * used[CONJUNCTIONS] > len(self.offsets):
            self.offsets = doubled(self.offsets)
            self.table = _table(len(self.offsets))
            enter_conjunctions(self.facts, self.offsets, self.table, self.counters[CONJUNCTIONS])

    def parts(self) -> dict[str, Any]:
        """Fields for the constructor of `Facts`."""
        sets, ranges, facts, conjunctions = self.counters.tolist()
        offsets, lows, highs = self._extents[:3]
        named = dict(
            zip(("attributes", "kinds", "numbers"), (array[:facts].copy() for array in self._facts), strict=True)
        )
        named |= {
            "set_offsets": offsets[: sets + 1].copy(),
            "lows": lows[:ranges].copy(),
            "highs": highs[:ranges].copy(),
        }
        return {**named, "offsets": self.offsets[: conjunctions + 1].copy()}


def _largest(conjuncts: Conjuncts) -> tuple[int, int, int]:
    """Upper bounds for one conjunction: its ranges, its sets for SOME facts, and its raw conditions."""
    if not len(conjuncts):
        return 1, 1, 1
    spelled = np.where(conjuncts.test_flags & LISTED, conjuncts.test_highs - conjuncts.test_lows, 1).astype(np.int64)
    intervals, tests = np.diff(conjuncts.offsets).astype(np.int64), np.diff(conjuncts.test_offsets).astype(np.int64)
    ranges = intervals + _summed(spelled[conjuncts.tests] + 1, conjuncts.test_offsets) + 2
    return int(ranges.max()), int((intervals + tests).max()) + 1, int((3 * intervals + 2 * tests).max()) + 1


def _summed(values: Int64s, offsets: npt.NDArray[Any]) -> Int64s:
    """Sums of runs."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])
    return ends[offsets[1:]] - ends[offsets[:-1]]


def _table(entries: int) -> Int32s:
    size = 1024
    while size < 4 * entries:
        size *= 2
    return np.full(size, -1, np.int32)
