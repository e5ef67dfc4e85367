"""Checks at the leaves of the matching tree: tests it cannot hold, shared by subscriptions and decided once an
event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.arrays import Arrays, Int64s
from tamis.lab.tree.layout import LISTED, OF, SEVERAL, TEST_COUNT, TESTS
from tamis.lab.tree.vocabulary import Vocabulary
from tamis.matching.base.flat_arrays import extended
from tamis.matching.codes.conditions import distinct_rows

_ARRAYS = ("specials", "lists", "tests", "operands", "uses", "listed")


class Checks:
    """Distinct tests by number, and the special conjunctions that have them or that share their subscription.

    Test t is the row (column, flags, low, high) of `tests`: some key of the column lies between low and high, or, if
    LISTED, stands in `listed[low:high]` (ascending); NEGATED turns it round. `operands` holds low and high as they
    were given: on ranked columns, constants whose codes move. `uses` counts the conjunctions of a test. Conjunction
    c is the row (subscription, start and length of its run of `lists`, whether the subscription has several).
    Numbers that fall free are given again.
    """

    def __init__(self, arrays: Arrays | None = None) -> None:
        if arrays is None:
            shapes = {"specials": (16, 4), "lists": (16,), "tests": (16, 4), "operands": (16, 2), "uses": (16,)}
            kinds = {"specials": np.int32, "lists": np.int32}
            arrays = {name: np.zeros(shape, kinds.get(name, np.int64)) for name, shape in shapes.items()}
            arrays |= {"listed": np.zeros(16, np.int64), "ends": np.zeros(4, np.int64)}
        self.specials, self.lists, self.tests = arrays["specials"], arrays["lists"], arrays["tests"]
        self.operands, self.uses, self.listed = arrays["operands"], arrays["uses"], arrays["listed"]
        self._specials, self._lists, self._tests, self._listed = map(int, arrays["ends"])
        self._numbers: dict[tuple[int, ...] | tuple[int, int, bytes], int] = {}
        self._free_specials: list[int] = np.flatnonzero(self.specials[: self._specials, OF] < 0).tolist()
        self._free_tests: list[int] = np.flatnonzero(self.uses[: self._tests] == 0).tolist()
        for number in np.flatnonzero(self.uses[: self._tests]).tolist():
            self._numbers[self._key(number)] = number
        self._idle_lists = self._lists - int(self.specials[self.specials[:, OF] >= 0][:, TEST_COUNT].sum())
        self._idle_listed = 0

    def arrays(self) -> Arrays:
        named = {name: getattr(self, name) for name in _ARRAYS}
        return {**named, "ends": np.array([self._specials, self._lists, self._tests, self._listed], np.int64)}

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays().values())

    def number_rows(self, rows: Int64s) -> Int64s:
        """Numbers of tests given as (column, flags, low, high)."""
        which = np.empty(len(rows), np.int32)
        distinct = rows[distinct_rows(rows, which)]
        return np.array([self._number(tuple(row), row) for row in distinct.tolist()], np.int64)[which]

    def number_lists(self, column: int, flags: int, lists: Int64s) -> Int64s:
        """Numbers of listings on one column, a row each; a row may list a key twice."""
        lists = np.sort(lists, axis=1)
        which = np.empty(len(lists), np.int32)
        numbers = []
        for row in lists[distinct_rows(lists, which)]:
            keys = np.unique(row)
            key = (column, flags | LISTED, keys.tobytes())
            numbers.append(self._numbers[key] if key in self._numbers else self._number(key, self._list(key, keys)))
        return np.array(numbers, np.int64)[which]

    def make(self, owners: Int64s, several: npt.NDArray[np.bool_], counts: Int64s, tests: Int64s) -> Int64s:
        """Numbers of new special conjunctions, from their subscriptions and the tests of each, in order."""
        again = [self._free_specials.pop() for _ in range(min(len(self._free_specials), len(owners)))]
        fresh = len(owners) - len(again)
        numbers = np.array([*again, *range(self._specials, self._specials + fresh)], np.int64)
        self._specials += fresh
        self.specials = extended(self.specials, self._specials)
        self.lists = extended(self.lists, self._lists + len(tests))
        self.lists[self._lists : self._lists + len(tests)] = tests
        self.specials[numbers, OF], self.specials[numbers, SEVERAL] = owners, several
        self.specials[numbers, TESTS], self.specials[numbers, TEST_COUNT] = (
            self._lists + np.cumsum(counts) - counts,
            counts,
        )
        self._lists += len(tests)
        np.add.at(self.uses, tests, 1)
        return numbers

    def release(self, numbers: Iterable[int]) -> None:
        """Releases special conjunctions, and the tests that none has any more."""
        for number in numbers:
            first, count = int(self.specials[number, TESTS]), int(self.specials[number, TEST_COUNT])
            for test in self.lists[first : first + count].tolist():
                self.uses[test] -= 1
                if self.uses[test] == 0:
                    self._forget(test)
            self.specials[number, OF] = -1
            self._free_specials.append(int(number))
            self._idle_lists += count
        if 2 * self._idle_lists > self._lists > len(self.lists) // 4 and self._idle_lists > 1024:
            self._pack_lists()
        if 2 * self._idle_listed > self._listed and self._idle_listed > 1024:
            self._pack_listed()

    def refresh(self, vocabulary: Vocabulary, moved: set[str]) -> None:
        """Updates the tests on ranked columns whose constants moved."""
        for column, source in enumerate(vocabulary.sources):
            if source.ranked and source.column.attribute in moved:
                some = np.flatnonzero(self.tests[: self._tests, 0] == column)
                for side in (0, 1):
                    codes = vocabulary.ranked(source.column.attribute, self.operands[some, side])
                    self.tests[some, 2 + side] = codes

    def _number(self, key: Any, row: list[int]) -> int:
        number = self._numbers.get(key)
        if number is None:
            if self._free_tests:
                number = self._free_tests.pop()
            else:
                number, self._tests = self._tests, self._tests + 1
                self.tests, self.operands = extended(self.tests, self._tests), extended(self.operands, self._tests)
                self.uses = extended(self.uses, self._tests)
            self._numbers[key] = number
            self.tests[number], self.operands[number] = row, row[2:]
        return number

    def _list(self, key: tuple[int, int, bytes], keys: Int64s) -> list[int]:
        first, self._listed = self._listed, self._listed + len(keys)
        self.listed = extended(self.listed, self._listed)
        self.listed[first : self._listed] = keys
        return [key[0], key[1], first, self._listed]

    def _key(self, number: int) -> tuple[int, ...] | tuple[int, int, bytes]:
        column, flags, low, high = self.tests[number].tolist()
        if flags & LISTED:
            return column, flags, self.listed[low:high].tobytes()
        return (column, flags, *self.operands[number].tolist())

    def _forget(self, test: int) -> None:
        del self._numbers[self._key(test)]
        self._free_tests.append(test)
        if self.tests[test, 1] & LISTED:
            self._idle_listed += int(self.tests[test, 3] - self.tests[test, 2])

    def _pack_lists(self) -> None:
        live = np.flatnonzero(self.specials[: self._specials, OF] >= 0)
        runs = [
            self.lists[first : first + count] for first, count in self.specials[live][:, [TESTS, TEST_COUNT]].tolist()
        ]
        counts = self.specials[live, TEST_COUNT]
        self.specials[live, TESTS] = np.cumsum(counts) - counts
        self.lists = np.concatenate([*runs, np.zeros(16, np.int32)])
        self._lists, self._idle_lists = int(counts.sum()), 0

    def _pack_listed(self) -> None:
        live = np.flatnonzero((self.uses[: self._tests] > 0) & (self.tests[: self._tests, 1] & LISTED > 0))
        runs = [self.listed[low:high] for low, high in self.tests[live, 2:].tolist()]
        counts = self.tests[live, 3] - self.tests[live, 2]
        self.tests[live, 3] = np.cumsum(counts)
        self.tests[live, 2] = self.tests[live, 3] - counts
        self.listed = np.concatenate([*runs, np.zeros(16, np.int64)])
        self._listed, self._idle_listed = int(counts.sum()), 0
