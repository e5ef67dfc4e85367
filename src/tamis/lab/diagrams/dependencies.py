"""The minimal cache of dependencies between predicates: which follow from which, without what follows from others."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays import Int64s
from tamis.lab.diagrams.row_kernels import NO_EDGE, assign_by_cache, candidates, depend, forget
from tamis.matching.base.flat_arrays import doubled
from tamis.routing.predicates import PredicateIndex

_FIRST_ROOM = 256


class Dependencies:
    """Edges from each predicate to the nearest ones that follow from it, and back (Li, Hou and Jacobsen 2005, §4.4).

    Complete: what follows is found by going along edges. Minimal: no edge says what others say together. A predicate is
    entered when it is first asked of; `_known` has its birth, for its number may be another one's later.
    """

    def __init__(self, index: PredicateIndex) -> None:
        self._index = index
        self._known = np.zeros(_FIRST_ROOM, np.int64)
        self._marks = np.zeros(_FIRST_ROOM, np.int64)
        self._mark = 0
        self._some = np.zeros((3, _FIRST_ROOM), np.int32)
        self._near = np.zeros((2, _FIRST_ROOM), np.int8)
        self._stack = np.zeros(_FIRST_ROOM, np.int32)
        self._ends = np.zeros(3, np.int64)
        self._up, self._down = _edges(_FIRST_ROOM), _edges(_FIRST_ROOM)

    def enter(self, term: int) -> bool:
        """Sees to it that a predicate is known; whether it was not."""
        index = self._index
        if term < len(self._known) and self._known[term] == index.births[term]:
            return False
        self._make_room(len(index.columns))
        if self._known[term]:
            self._forget(term)
        weaker, stronger, asked = self._some
        candidates(
            term, index.columns, self._known, index.alive, index.births, index.end, index.flat, weaker, stronger, asked,
            self._ends,
        )  # fmt: skip
        ups, downs, asks = self._ends.tolist()
        for other in asked[:asks].tolist():
            if other not in weaker[:ups] and index.implies(term, other):
                weaker[ups] = other
                ups += 1
            if other not in stronger[:downs] and index.implies(other, term):
                stronger[downs] = other
                downs += 1
        self._make_room_for_edges(ups + downs)
        depend(
            term, weaker, ups, stronger, downs, self._up, self._down, self._near, self._stack, self._mark + 1,
            self._marks,
        )  # fmt: skip
        self._mark += ups + downs + 1
        self._known[term] = index.births[term]
        return True

    def assign(self, term: int, stamp: int, left: Int64s, right: Int64s) -> None:
        """Marks what follows from a known predicate, and what it follows from."""
        assign_by_cache(term, self._up, self._down, self._stack, stamp, left, right)

    def weaker(self, term: int) -> list[int]:
        """The nearest predicates that follow from one."""
        return _targets(term, self._up)

    def stronger(self, term: int) -> list[int]:
        """The nearest predicates that one follows from."""
        return _targets(term, self._down)

    def _forget(self, term: int) -> None:
        self._make_room_for_edges(len(self.weaker(term)) * len(self.stronger(term)))
        self._mark += int(forget(term, self._up, self._down, self._stack, self._mark + 1, self._marks)) + 1
        self._known[term] = 0

    def _make_room(self, needed: int) -> None:
        size = len(self._known)
        if needed <= size:
            return
        more = max(needed, 2 * size) - size
        self._known = np.concatenate([self._known, np.zeros(more, np.int64)])
        self._marks = np.concatenate([self._marks, np.zeros(more, np.int64)])
        self._some = np.zeros((3, size + more), np.int32)
        self._near = np.zeros((2, size + more), np.int8)
        self._stack = np.zeros(size + more, np.int32)
        heads = np.full(more, NO_EDGE, np.int32)
        self._up = (np.concatenate([self._up[0], heads]), *self._up[1:])
        self._down = (np.concatenate([self._down[0], heads]), *self._down[1:])

    def _make_room_for_edges(self, more: int) -> None:
        while self._up[3][0] + more > len(self._up[1]):
            self._up, self._down = _with_more_edges(self._up), _with_more_edges(self._down)


def _edges(room: int) -> tuple[Any, ...]:
    heads = np.full(room, NO_EDGE, np.int32)
    return heads, np.zeros(4 * room, np.int32), np.zeros(4 * room, np.int32), np.array([0, NO_EDGE], np.int64)


def _with_more_edges(edges: tuple[Any, ...]) -> tuple[Any, ...]:
    heads, targets, nexts, state = edges
    return heads, doubled(targets), doubled(nexts), state


def _targets(term: int, edges: tuple[Any, ...]) -> list[int]:
    heads, targets, nexts, _ = edges
    found, edge = [], int(heads[term])
    while edge != NO_EDGE:
        found.append(int(targets[edge]))
        edge = int(nexts[edge])
    return found
