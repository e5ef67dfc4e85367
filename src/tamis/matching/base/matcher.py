"""Protocol of matching algorithms (`Matcher`): subscriptions that they take in, matches of each event (`Matches`), and
counters of the work (`Work`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int32s, Int64s
from tamis.language.shapes import Block, Bound, CalledBlock
from tamis.matching.base.statistics import Statistics
from tamis.schema import Schema

if TYPE_CHECKING:
    from tamis.matching.codes.holders import Holders
    from tamis.matching.patterns import PatternSet


# Matches of a batch: the subscriptions that each event satisfies.

CANDIDATES, BUCKETS, PROBES, PREDICATES, NODES = range(5)  # of the work's counters


@dataclass(frozen=True, slots=True)
class Part:
    """Matches of consecutive events: event `first + i` matched `numbers[offsets[i]:offsets[i + 1]]`."""

    first: int
    offsets: Int64s
    numbers: Int32s


@dataclass(frozen=True, slots=True)
class Answer:
    """Matches of a part of the subscriptions: the part's number n is subscription `names[n]`.

    Parts, and answers, hold disjoint (event, subscription) pairs: nothing comes twice when they are put together.
    """

    names: pa.Array
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Binding:
    """Values of a subscription's variables in one event: the first substitution found, and the count of them all."""

    event: int
    subscription: str
    variables: Mapping[str, Any]
    substitutions: int


class Work:
    """Counters of what a match cost, filled by the kernels in `counters`, in the order of the properties.

    A counter that an algorithm has no use for stays 0. Every algorithm counts candidates and predicates.
    """

    def __init__(self) -> None:
        self.counters = np.zeros(5, np.int64)

    @property
    def candidates(self) -> int:
        """Subscriptions verified one by one, or counted for."""
        return int(self.counters[CANDIDATES])

    @property
    def buckets(self) -> int:
        """Buckets, clusters or runs of subscriptions that an event led to."""
        return int(self.counters[BUCKETS])

    @property
    def probes(self) -> int:
        """Lookups in hash tables."""
        return int(self.counters[PROBES])

    @property
    def predicates(self) -> int:
        """Predicate evaluations: comparisons made, and predicates found true by their key."""
        return int(self.counters[PREDICATES])

    @property
    def nodes(self) -> int:
        """Nodes of trees and automata visited."""
        return int(self.counters[NODES])


class Matches:
    """The (event, subscription) pairs of one batch, as flat arrays: no Python object per match.

    A subscription's number is its position in `names`, and is valid for this result only.
    """

    def __init__(
        self,
        events: int,
        answers: Sequence[Answer],
        work: Work | None = None,
        bindings: Callable[[], list[Binding]] | None = None,
    ) -> None:
        self.events = events
        self.work = work or Work()
        self._answers = answers
        self._bindings = bindings
        self._names = _alike([answer.names for answer in answers])
        self._bases = np.cumsum([0, *map(len, self._names)], dtype=np.int64)
        self._parts = [
            (int(base), part)
            for base, answer in zip(self._bases, answers, strict=False)
            for part in answer.parts
            if part.offsets[0] < part.offsets[-1]
        ]

    def __len__(self) -> int:
        return sum(int(part.offsets[-1] - part.offsets[0]) for _, part in self._parts)

    @cached_property
    def counts(self) -> Int64s:
        """Number of subscriptions that each event matched."""
        counts = np.zeros(self.events, np.int64)
        for _, part in self._parts:
            counts[part.first : part.first + len(part.offsets) - 1] += np.diff(part.offsets)
        return counts

    @cached_property
    def offsets(self) -> Int64s:
        """Offsets by event: event i's matches are `numbers[offsets[i]:offsets[i + 1]]`."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])

    @cached_property
    def names(self) -> pa.ChunkedArray:
        """The ids of all subscriptions that could have matched, by number."""
        return pa.chunked_array(self._names, self._names[0].type if self._names else pa.string())

    @cached_property
    def numbers(self) -> Int64s:
        """Subscription numbers, event by event."""
        if len(self._parts) == 1:
            ((base, part),) = self._parts
            return part.numbers[part.offsets[0] : part.offsets[-1]] + np.int64(base)
        out = np.empty(len(self), np.int64)
        filled = self.offsets[:-1].copy()
        for base, part in self._parts:
            run = part.numbers[part.offsets[0] : part.offsets[-1]]
            counts = np.diff(part.offsets)
            rows = slice(part.first, part.first + len(counts))
            starts = np.repeat(filled[rows] - (part.offsets[:-1] - part.offsets[0]), counts)
            out[starts + np.arange(len(run))] = run + np.int64(base)
            filled[rows] += counts
        return out

    def ids(self, numbers: npt.ArrayLike) -> pa.Array:
        """Ids of these subscription numbers: Arrow strings, or large strings where they need it."""
        places = np.asarray(numbers, np.int64)
        try:
            return _take(self._names, self._bases, places)
        except pa.ArrowInvalid:  # all the ids asked for are more than 32-bit offsets reach
            return _take([names.cast(pa.large_string()) for names in self._names], self._bases, places)

    def and_also(self, answer: Answer, bindings: Callable[[], list[Binding]]) -> Matches:
        """These matches together with those of other subscriptions on the same events, which come with bindings."""
        return Matches(self.events, [*self._answers, answer], self.work, bindings)

    def bindings(self) -> list[Binding]:
        """Variable bindings by event, for each match of a filter with variables; computed on first access."""
        return self._bound

    @cached_property
    def _bound(self) -> list[Binding]:
        return [] if self._bindings is None else self._bindings()

    def to_arrow(self) -> pa.Table:
        """Matches as a table, one row per match: `event` (row number in the batch) and `subscription` (id)."""
        rows = np.repeat(np.arange(self.events, dtype=np.int64), self.counts)
        return pa.table({"event": rows, "subscription": self.ids(self.numbers)})

    def to_lists(self) -> list[list[str]]:
        """Matched ids per event: for small batches and for tests."""
        found: list[str] = self.ids(self.numbers).to_pylist()
        bounds = self.offsets.tolist()
        return [found[a:b] for a, b in pairwise(bounds)]


def _alike(names: list[pa.Array]) -> list[pa.Array]:
    """Arrays of one type: large strings if any of them is."""
    if len({array.type for array in names}) < 2:
        return names
    return [array.cast(pa.large_string()) for array in names]


def _take(names: list[pa.Array], bases: Int64s, numbers: Int64s) -> pa.Array:
    """Ids by number. Arrow's `take` on several arrays would first join all of them, however few ids are asked for."""
    if len(names) == 1:
        return names[0].take(pa.array(numbers))
    which = (np.searchsorted(bases, numbers, side="right") - 1).astype(np.uint16)
    order = np.argsort(which, kind="stable")
    cuts = np.searchsorted(which[order], np.arange(1, len(names)))
    runs = np.split(numbers[order], cuts)
    pieces = [some.take(pa.array(run - base)) for some, run, base in zip(names, runs, bases, strict=False)]
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return pa.concat_arrays(pieces).take(pa.array(places)) if pieces else pa.array([], pa.string())


B = TypeVar("B", Block, CalledBlock)


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Parsed subscriptions to be added to a matcher: row i has id `ids[i]` and filter `texts[i]`.

    `bound` is what the language made of the texts. Refused rows are in `bound.errors` and in none of its blocks; a
    matcher leaves them out.
    """

    ids: pa.Array
    texts: pa.Array
    bound: Bound

    def only(self, rows: npt.NDArray[np.bool_]) -> Subscriptions:
        """Subscriptions that a mask keeps; the mask has all rows of a block or none. Other rows' errors are dropped."""
        place = np.cumsum(rows) - 1
        bound = self.bound
        kept = Bound(
            int(rows.sum()),
            _moved(bound.blocks, rows, place),
            _moved(bound.terms, rows, place),
            _moved(bound.called, rows, place),
            [(int(place[row]), error) for row, error in bound.errors if rows[row]],
            bound.limits,
        )
        mask = pa.array(rows)
        return Subscriptions(self.ids.filter(mask), self.texts.filter(mask), kept)


def _moved(blocks: Sequence[B], rows: npt.NDArray[np.bool_], place: npt.NDArray[np.int64]) -> list[B]:
    return [replace(block, rows=place[block.rows]) for block in blocks if rows[block.rows].all()]


class Matcher(Protocol):
    """Matching algorithm: finds the subscriptions that each event satisfies.

    A change is seen by the next `match`. Several threads may match at once; one thread at a time makes changes.
    """

    name: ClassVar[str]
    tells_holders: ClassVar[bool]
    """True if `holders_of` is answered, so that slow patterns can be charged to the subscriptions that hold them."""

    @classmethod
    def build(cls, subscriptions: Subscriptions, schema: Schema, statistics: Statistics | None) -> Self:
        """Builds a matcher of these subscriptions. Ids are unique (the engine checks that)."""
        ...

    def match(self, batch: pa.RecordBatch) -> Matches:
        """Matches the events of a canonical batch (`Schema.to_arrow`)."""
        ...

    def add(self, subscriptions: Subscriptions) -> None:
        """Adds subscriptions. None of the ids is present yet (the engine checks that)."""
        ...

    def remove(self, ids: Iterable[str]) -> None:
        """Removes subscriptions. All of the ids are present (the engine checks that)."""
        ...

    def __contains__(self, id: object) -> bool: ...

    def __len__(self) -> int: ...

    @property
    def bytes_held(self) -> int:
        """Bytes of memory that matching needs, without ids and texts."""
        ...

    @property
    def given_options(self) -> Mapping[str, Any]:
        """Options that the matcher was built with, by name, as JSON values; empty if the algorithm has none."""
        ...

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        """The subscriptions that hold the patterns of a set; None if the set is not this matcher's.

        Asked by the meter of a match that is under way (`metering.Meter`), in its thread.
        """
        ...

    def ids(self) -> pa.Array:
        """The ids present, in no particular order."""
        ...

    def text(self, id: str) -> str:
        """Text of a subscription as it was written."""
        ...

    def save(self, folder: Path) -> None:
        """Writes files into an empty folder; the engine adds what all matchers have in common."""
        ...

    @classmethod
    def open(cls, folder: Path, schema: Schema, verify: bool) -> Self: ...
