"""Matcher `tree`: Gryphon's matching tree behind the protocol of all matchers, changed in place under a readers-writer
lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int32s
from tamis.errors import EventError
from tamis.lab.tree.checks import Checks
from tamis.lab.tree.conjunctions import conjunctions_of, encode
from tamis.lab.tree.roster import Roster, holders_of
from tamis.lab.tree.tree import Tree, TreeOptions
from tamis.lab.tree.visiting import match_events
from tamis.lab.tree.vocabulary import Source, Vocabulary
from tamis.matching.base.matcher import Answer, Matches, Part, Subscriptions, Work
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.columns import Column, Kind
from tamis.matching.codes.files import read_arrays, write_arrays
from tamis.matching.codes.holders import Holders
from tamis.matching.patterns import PatternSet
from tamis.schema import Schema

# Readers-writer lock.


class SharedAccess:
    """Readers-writer lock: readers share, a writer is alone, and a waiting writer goes before later readers.

    A thread must not ask again while it has it.
    """

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._readers = self._waiting = 0
        self._changing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._turn:
            self._turn.wait_for(lambda: not self._changing and not self._waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._turn:
                self._readers -= 1
                if not self._readers:
                    self._turn.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        with self._turn:
            self._waiting += 1
            self._turn.wait_for(lambda: not self._changing and not self._readers)
            self._waiting -= 1
            self._changing = True
        try:
            yield
        finally:
            with self._turn:
                self._changing = False
                self._turn.notify_all()


CHUNK = 4096  # events encoded at a time
OUT = 1 << 18  # matches beyond what one event may need
LAST_STAMP = 2**30 - 1
_FILE = "tree.tamis"


class _Scratch(threading.local):
    """Scratch of one thread: what was decided for the current event carries its stamp."""

    def __init__(self) -> None:
        self.stamp = 1
        self.memory, self.seen = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self.stack, self.out = np.zeros((0, 2), np.int32), np.zeros(0, np.int32)

    def arrays(self, tests: int, owners: int, nodes: int, events: int) -> tuple[Int32s, Int32s, Int32s]:
        if self.stamp + events >= LAST_STAMP:
            self.memory[:], self.seen[:], self.stamp = 0, 0, 1
        if len(self.memory) < tests:
            self.memory = np.zeros(2 * tests, np.int32)
        if len(self.seen) < owners:
            self.seen = np.zeros(2 * owners, np.int32)
        if len(self.stack) < 2 * nodes:
            self.stack = np.empty((3 * nodes, 2), np.int32)
        if len(self.out) < owners + OUT:
            self.out = np.empty(2 * owners + 2 * OUT, np.int32)
        return self.memory, self.seen, self.stack


class TreeMatcher:
    """Matcher by Gryphon's tree (Aguilera, Strom, Sturman, Astley, Chandra: PODC 1999), with tests, edges and *-edges.

    A filter's conjunctions are its subscriptions in the paper's sense. The tree itself holds equalities and ranges of
    numbers, times, listed values and truth values, equalities of strings, members of multiple values, patterns and
    attributes against each other. What it cannot hold (negations, lists, strings by order, a second member of the
    same attribute) is verified at the leaves, or stands in nodes of its own below the attributes if the tree is to be
    `general`; each distinct one of these tests is decided at most once an event. Departs: subscriptions at one leaf
    are those with equal predicates, not equal filters; a node has its ranges as a list of its own; successor sets are
    kept as one successor an edge (see layout.py), so that they can follow changes.

    Nothing is rebuilt when subscriptions come and go, but for the sorted constants of string ranges and the sets of
    patterns. Matches share the tree; a change waits for those under way, and those that come later wait for it.
    """

    name: ClassVar[str] = "tree"
    tells_holders: ClassVar[bool] = True
    options: ClassVar[type[TreeOptions]] = TreeOptions

    def __init__(self, schema: Schema, options: TreeOptions = TreeOptions()) -> None:  # noqa: B008  # frozen
        self.vocabulary, self.checks, self._roster = Vocabulary(schema), Checks(), Roster()
        self.tree = Tree(options, self.vocabulary)
        self._access, self._scratch = SharedAccess(), _Scratch()

    @classmethod
    def build(
        cls,
        subscriptions: Subscriptions,
        schema: Schema,
        statistics: Statistics | None = None,
        options: TreeOptions = TreeOptions(),  # noqa: B008
    ) -> Self:
        """Builds the tree. `statistics` are not used: levels follow from how often subscriptions name their
        attributes."""
        matcher = cls(schema, options)
        matcher.add(subscriptions)
        matcher.tree.analyse()
        return matcher

    def match(self, batch: pa.RecordBatch) -> Matches:
        while True:
            if self.vocabulary.unsettled:
                with self._access.changing():
                    self.checks.refresh(self.vocabulary, self.vocabulary.settle())
            with self._access.reading():
                if not self.vocabulary.unsettled:
                    return self._match(batch)

    def _match(self, batch: pa.RecordBatch) -> Matches:
        work, parts = Work(), []
        ends, begun = np.zeros(len(batch) + 1, np.int64), 0
        size = min(CHUNK, max(1, (1 << 22) // (len(self.vocabulary.sources) + 1)))
        for start in range(0, len(batch), size):
            chunk = batch.slice(start, size)
            try:
                encoded = encode(self.vocabulary, chunk)
            except EventError as error:
                raise EventError([replace(v, event=start + v.event) for v in error.violations]) from None
            left, count = 0, len(chunk)
            while (left := self._visit(encoded, left, ends[start : start + count + 1], work)) < count:
                parts.append(self._part(ends, begun, start + left))
                begun = start + left
                ends[begun] = 0
        parts.append(self._part(ends, begun, len(batch)))
        numbers = np.concatenate([part.numbers for part in parts]) if len(parts) > 1 else parts[0].numbers
        names, places = self._roster.names(numbers)
        cuts = np.cumsum([len(part.numbers) for part in parts])[:-1]
        parts = [replace(part, numbers=some) for part, some in zip(parts, np.split(places, cuts), strict=True)]
        # Numbers go on from one array of names to the next, whichever of the answers they stand in.
        return Matches(len(batch), [Answer(names[0], parts), *(Answer(more, ()) for more in names[1:])], work)

    def _part(self, ends: npt.NDArray[np.int64], begun: int, stop: int) -> Part:
        return Part(begun, ends[begun : stop + 1].copy(), self._scratch.out[: ends[stop]].copy())

    def _visit(self, encoded: Any, first: int, ends: npt.NDArray[np.int64], work: Work) -> int:
        tree, checks, count = self.tree, self.checks, len(encoded.values)
        room = self._roster.end + 1
        scratch = self._scratch.arrays(len(checks.tests), room, len(tree.nodes), count)
        stop: int = match_events(
            tree.searched, tree.roots, tree.factors, first, tuple(encoded), tree.outs,
            (checks.specials, checks.lists, checks.tests, checks.listed), tree.options.successors, scratch,
            self._scratch.stamp, room, self._scratch.out, ends, work.counters,
        )  # fmt: skip
        self._scratch.stamp += count
        return stop

    def add(self, subscriptions: Subscriptions) -> None:
        refused = {row for row, _ in subscriptions.bound.errors}
        kept = [row for row in range(len(subscriptions.ids)) if row not in refused]
        chosen = pa.array(kept, pa.int64())
        ids, texts = (some.take(chosen).to_pylist() for some in (subscriptions.ids, subscriptions.texts))
        with self._access.changing():
            numbers = np.full(len(subscriptions.ids), -1, np.int64)
            numbers[kept] = self._roster.add(ids, texts)
            general = self.tree.options.general
            new = conjunctions_of(subscriptions.bound, numbers, self.vocabulary, self.checks, general)
            if not self.tree.options.collapse:
                self._every_attribute()
            self.tree.add(new)

    def _every_attribute(self) -> None:
        """Adds levels for attributes that no subscription names yet: P1's tree has one for all."""
        for name, attribute in self.vocabulary.schema.attributes.items():
            if not attribute.multiple:
                self.vocabulary.number(Source(Column(Kind.VALUE, name)))

    def remove(self, ids: Iterable[str]) -> None:
        with self._access.changing():
            numbers = [self._roster.remove(id) for id in ids]
            self.checks.release(self.tree.remove(numbers))

    def __contains__(self, id: object) -> bool:
        return id in self._roster

    def __len__(self) -> int:
        return len(self._roster)

    @property
    def bytes_held(self) -> int:
        return self.tree.nbytes + self.checks.nbytes + self.vocabulary.nbytes

    @property
    def given_options(self) -> Mapping[str, Any]:
        return self.tree.options.to_dict()

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        return holders_of(self.tree, self.checks, self.vocabulary, self._roster, patterns)

    def ids(self) -> pa.Array:
        with self._access.reading():
            return self._roster.ids()

    def text(self, id: str) -> str:
        return self._roster.text(id)

    def save(self, folder: Path) -> None:
        with self._access.reading():
            about = {"tree": self.tree.about(), "vocabulary": self.vocabulary.about()}
            parts = {
                "tree": self.tree.arrays(),
                "checks": self.checks.arrays(),
                "vocabulary": self.vocabulary.arrays(),
                "roster": self._roster.arrays(),
            }
            arrays = {f"{part}.{name}": array for part, some in parts.items() for name, array in some.items()}
            write_arrays(folder / _FILE, arrays, about)

    @classmethod
    def open(cls, folder: Path, schema: Schema, verify: bool = True) -> Self:
        """Opens a saved tree by mapping: its pages become this process's own as they are written to."""
        arrays, about = read_arrays(folder / _FILE, verify)

        def part(name: str) -> dict[str, npt.NDArray[Any]]:
            return {key.removeprefix(name): array for key, array in arrays.items() if key.startswith(name)}

        matcher = cls(schema)
        matcher.vocabulary = Vocabulary.restore(schema, about["vocabulary"], part("vocabulary."))
        matcher.tree = Tree.restore(matcher.vocabulary, about["tree"], part("tree."))
        matcher.checks, matcher._roster = Checks(part("checks.")), Roster.restore(part("roster."))
        return matcher
