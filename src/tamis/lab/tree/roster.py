"""Roster of the tree's subscriptions (ids and texts by number), and the subscriptions that hold each pattern."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tamis.arrays import Arrays, Int32s, Int64s
from tamis.compiled import bare_kernel
from tamis.lab.tree.checks import Checks
from tamis.lab.tree.layout import AT, EDGE, LEVEL, LISTED, NONE, OF, ON_VALUE, OTHER, PARENT, ROOT, TEST_COUNT, TESTS
from tamis.lab.tree.tree import Tree
from tamis.lab.tree.vocabulary import Source, Vocabulary
from tamis.matching.codes.columns import Column, Kind
from tamis.matching.codes.holders import Holders, ranges
from tamis.matching.codes.names import CompressedTexts
from tamis.matching.patterns import PatternSet

# Ids and texts by number, and numbers by id.

_RENEWED = 8  # when this share of the names has changed, they are gathered anew


class Roster:
    """Ids, texts and numbers of subscriptions: a number is kept while the subscription is here, and then given again.

    `_all` are the ids by number as they were when they were last gathered, `_changed` the numbers that are others now.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._ids: list[str | None] = []
        self._texts: list[str] = []
        self._free: list[int] = []
        self._all = pa.array([], pa.string())
        self._changed: set[int] = set()

    def __contains__(self, id: object) -> bool:
        return id in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def end(self) -> int:
        """Upper end of the numbers."""
        return len(self._ids)

    def add(self, ids: list[str], texts: list[str]) -> Int64s:
        numbers = [self._free.pop() for _ in range(min(len(self._free), len(ids)))]
        fresh = len(ids) - len(numbers)
        numbers += range(len(self._ids), len(self._ids) + fresh)
        self._ids += [None] * fresh
        self._texts += [""] * fresh
        for number, id, text in zip(numbers, ids, texts, strict=True):
            self._numbers[id], self._ids[number], self._texts[number] = number, id, text
        self._changed.update(numbers)
        return np.array(numbers, np.int64)

    def remove(self, id: str) -> int:
        number = self._numbers.pop(id)
        self._ids[number], self._texts[number] = None, ""
        self._changed.add(number)
        self._free.append(number)
        return number

    def find(self, id: str) -> int | None:
        """Number of a present subscription; None if there is none of this id."""
        return self._numbers.get(id)

    def id_of(self, number: int) -> str:
        """Id of a present subscription."""
        id = self._ids[number]
        assert id is not None
        return id

    def text(self, id: str) -> str:
        return self._texts[self._numbers[id]]

    def ids(self) -> pa.Array:
        return pa.array(list(self._numbers), pa.large_string())

    def names(self, numbers: Int32s) -> tuple[list[pa.Array], Int32s]:
        """Ids as arrays, and these numbers as positions in them, one after the other. Several threads may call it at
        once.

        The ids that changed have an array of their own: to gather all is much, to do so after every change too much.
        """
        changed, known = self._changed, self._all  # in this order: whoever gathers writes them in the other
        if _RENEWED * len(changed) > len(known):
            known = self._all = _strings(self._ids)
            changed = self._changed = set()
        if not changed:
            return [known], numbers
        moved = np.array(sorted(changed), np.int32)
        at = np.minimum(np.searchsorted(moved, numbers), len(moved) - 1)
        places = np.where(moved[at] == numbers, len(known) + at, numbers).astype(np.int32)
        return [known, _strings([self._ids[number] for number in moved.tolist()])], places

    def arrays(self) -> Arrays:
        ids = CompressedTexts.build(pa.array([id or "" for id in self._ids], pa.large_string())).arrays()
        texts = CompressedTexts.build(pa.array(self._texts, pa.large_string())).arrays()
        free = {"free": np.array(self._free, np.int64)}
        return free | {f"ids.{k}": v for k, v in ids.items()} | {f"texts.{k}": v for k, v in texts.items()}

    @classmethod
    def restore(cls, arrays: Arrays) -> Roster:
        roster = cls()
        parts = ({k.removeprefix(p): v for k, v in arrays.items() if k.startswith(p)} for p in ("ids.", "texts."))
        ids, texts = (CompressedTexts(part).to_arrow().to_pylist() for part in parts)
        roster._free = arrays["free"].tolist()
        gone = set(roster._free)
        roster._ids = [None if number in gone else id for number, id in enumerate(ids)]
        roster._texts = texts
        roster._numbers = {id: number for number, id in enumerate(roster._ids) if id is not None}
        roster._changed = set(roster._numbers.values())
        return roster


def _strings(ids: list[str | None]) -> pa.Array:
    try:
        return pa.array(ids, pa.string())
    except pa.ArrowInvalid:  # more than 32-bit offsets reach
        return pa.array(ids, pa.large_string())


@bare_kernel
def values_on_paths(nodes: Any, bounds: Any, entries: Any, heads: Any, level: int, found: Any) -> int:
    """Writes (value, subscription) where a path has a value edge of a level; returns how many rows."""
    count = 0
    for owner in range(len(heads)):
        entry = heads[owner]
        while entry != NONE:
            node = entries[entry, AT]
            while nodes[node, LEVEL] != ROOT:
                parent = nodes[node, PARENT]
                if nodes[node, EDGE] == ON_VALUE and nodes[parent, LEVEL] == level:
                    found[count, 0], found[count, 1] = bounds[node, 0], owner
                    count += 1
                    break
                node = parent
            entry = entries[entry, OTHER]
    return count


def holders_of(
    tree: Tree, checks: Checks, vocabulary: Vocabulary, roster: Roster, patterns: PatternSet
) -> Holders | None:
    """Subscriptions now in the tree that hold each pattern of a set; None if the set is not the tree's. Visits every
    path."""
    for attribute, one in vocabulary.sets.items():
        if one is patterns:
            column = vocabulary.numbers[Source(Column(Kind.PATTERNS, attribute))]
            paths = np.empty((len(tree.entries), 2), np.int64)
            paths = paths[: values_on_paths(tree.nodes, tree.bounds, tree.entries, tree.heads, column, paths)]
            pairs = np.unique(np.concatenate([paths, _tested(checks, column, len(patterns))]), axis=0)
            return Holders(pairs[:, 0], pairs[:, 1], roster)
    return None


def _tested(checks: Checks, column: int, patterns: int) -> Int64s:
    """Rows (pattern, subscription) of the tests on a column; a pattern may be on the path instead."""
    special = checks.specials[(checks.specials[:, OF] >= 0) & (checks.specials[:, TEST_COUNT] > 0)]
    counts = special[:, TEST_COUNT].astype(np.int64)
    tests = checks.lists[ranges(special[:, TESTS].astype(np.int64), counts)]
    owners = np.repeat(special[:, OF].astype(np.int64), counts)
    on_column = checks.tests[tests, 0] == column
    tests, owners = tests[on_column], owners[on_column]
    distinct, which = np.unique(tests, return_inverse=True)
    held = [np.zeros(0, np.int64)]
    for _, flags, low, high in checks.tests[distinct].tolist():
        held.append(checks.listed[low:high] if flags & LISTED else np.arange(max(low, 0), min(high + 1, patterns)))
    lengths = np.array([len(some) for some in held[1:]], np.int64)
    firsts = np.cumsum(lengths) - lengths
    of_each = lengths[which]
    return np.column_stack([np.concatenate(held)[ranges(firsts[which], of_each)], np.repeat(owners, of_each)])
