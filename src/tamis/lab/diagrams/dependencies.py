"""Minimal cache of implications between predicates, and the kernels of covering by a pair of decision diagrams.

The cache has an edge only where no other edges imply it (Li, Hou and Jacobsen 2005, §4.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays import Int64s
from tamis.compiled import bare_kernel
from tamis.lab.diagrams.diagrams import DEAD, TRUE
from tamis.matching.base.flat_arrays import doubled
from tamis.routing.standing.predicate_index import PredicateIndex
from tamis.routing.standing.rows import (
    ASK,
    COMPARED,
    COVERED,
    COVERING,
    FOUND_COVERED,
    FOUND_COVERING,
    FULL,
    NO,
    YES,
    follows,
)

# Kernels that compare a new conjunction with all predicates and diagrams: both directions, in one pass or two.
#
# An assignment is two marks a predicate: `right` that it follows from the new conjunction's predicate on its column,
# `left` that it implies that predicate; a mark is valid with the current stamp: `stamp << 2 | answer`. `asked` has
# the stamp at columns that the new conjunction is on.

NOBODY = -1
NO_EDGE = -1
# Counter of `evaluate`, in place of rows compared: nodes evaluated.
EVALUATED = COMPARED
# State of an edge list: how many edges were made, and the first free one.
EDGES, FREE = range(2)
_BLOCKED = -1


@bare_kernel
def assign_by_scan(
    term: int, columns: Any, alive: Any, count: int, predicates: Any, stamp: int, left: Any, right: Any
) -> None:
    """Compares one predicate with every one in the index."""
    for other in range(count):
        if alive[other] and columns[other] == columns[term]:
            answer = follows(term, other, predicates)
            if answer != NO:
                right[other] = stamp << 2 | answer
            answer = follows(other, term, predicates)
            if answer != NO:
                left[other] = stamp << 2 | answer


@bare_kernel
def assign_by_cache(term: int, upward: Any, downward: Any, stack: Any, stamp: int, left: Any, right: Any) -> None:
    """Marks predicates implied by one, and those that imply it, by following the known dependencies."""
    walk(term, upward, stack, stamp << 2 | YES, right)
    walk(term, downward, stack, stamp << 2 | YES, left)


@bare_kernel
def walk(start: int, edges: Any, stack: Any, mark: int, marks: Any) -> int:
    """Marks all predicates that edges lead to; returns their number."""
    heads, targets, nexts, _ = edges
    marks[start] = mark
    stack[0] = start
    end = found = 1
    while end > 0:
        end -= 1
        edge = heads[stack[end]]
        while edge != NO_EDGE:
            target = targets[edge]
            if marks[target] != mark:
                marks[target] = mark
                stack[end] = target
                end += 1
                found += 1
            edge = nexts[edge]
    return found


@bare_kernel
def link(source: int, target: int, edges: Any) -> None:
    """Adds an edge."""
    heads, targets, nexts, state = edges
    edge = state[FREE]
    if edge == NO_EDGE:
        edge = state[EDGES]
        state[EDGES] += 1
    else:
        state[FREE] = nexts[edge]
    targets[edge], nexts[edge] = target, heads[source]
    heads[source] = edge


@bare_kernel
def unlink(source: int, target: int, edges: Any) -> bool:
    """Removes an edge; returns True if it existed."""
    heads, targets, nexts, state = edges
    before, edge = NO_EDGE, heads[source]
    while edge != NO_EDGE and targets[edge] != target:
        before, edge = edge, nexts[edge]
    if edge == NO_EDGE:
        return False
    if before == NO_EDGE:
        heads[source] = nexts[edge]
    else:
        nexts[before] = nexts[edge]
    nexts[edge] = state[FREE]
    state[FREE] = edge
    return True


@bare_kernel
def nearest(some: Any, count: int, edges: Any, stack: Any, mark: int, marks: Any, near: Any) -> None:
    """Nearest of some predicates: those that no other one of them leads to, in minimal dependencies."""
    for k in range(count):
        near[k] = 1
    for k in range(count):
        walk(some[k], edges, stack, mark + k, marks)
        for j in range(count):
            if j != k and marks[some[j]] == mark + k:
                near[j] = 0


@bare_kernel
def depend(
    term: int, weaker: Any, weaker_count: int, stronger: Any, stronger_count: int, upward: Any, downward: Any,
    near: Any, stack: Any, mark: int, marks: Any,
) -> None:  # fmt: skip
    """Adds a predicate's dependencies, and removes those that they make redundant: the cache stays minimal."""
    nearest(weaker, weaker_count, upward, stack, mark, marks, near[0])
    nearest(stronger, stronger_count, downward, stack, mark + weaker_count, marks, near[1])
    for i in range(stronger_count):
        if near[1][i]:
            for j in range(weaker_count):
                if near[0][j] and unlink(stronger[i], weaker[j], upward):
                    unlink(weaker[j], stronger[i], downward)
    for j in range(weaker_count):
        if near[0][j]:
            link(term, weaker[j], upward)
            link(weaker[j], term, downward)
    for i in range(stronger_count):
        if near[1][i]:
            link(stronger[i], term, upward)
            link(term, stronger[i], downward)


@bare_kernel
def forget(term: int, upward: Any, downward: Any, stack: Any, mark: int, marks: Any) -> int:
    """Removes a predicate; dependencies through it become direct ones, unless there is another way.

    Returns how many marks were used.
    """
    used = 0
    while downward[0][term] != NO_EDGE:
        below = downward[1][downward[0][term]]
        unlink(term, below, downward)
        unlink(below, term, upward)
        edge = upward[0][term]
        while edge != NO_EDGE:
            above = upward[1][edge]
            walk(below, upward, stack, mark + used, marks)
            if marks[above] != mark + used:
                link(below, above, upward)
                link(above, below, downward)
            used += 1
            edge = upward[2][edge]
    while upward[0][term] != NO_EDGE:
        above = upward[1][upward[0][term]]
        unlink(term, above, upward)
        unlink(above, term, downward)
    return used


@bare_kernel
def candidates(
    term: int, columns: Any, known: Any, alive: Any, births: Any, count: int, predicates: Any, weaker: Any,
    stronger: Any, asked: Any, ends: Any,
) -> None:  # fmt: skip
    """Known predicates implied by one, those that imply it, and those to be compared more closely."""
    ends[0] = ends[1] = ends[2] = 0
    for other in range(count):
        if other == term or columns[other] != columns[term]:
            continue
        if not alive[other] or known[other] != births[other]:
            continue  # its number stands for nothing, or for what is not entered yet
        up, down = follows(term, other, predicates), follows(other, term, predicates)
        if up == YES:
            weaker[ends[0]] = other
            ends[0] += 1
        if down == YES:
            stronger[ends[1]] = other
            ends[1] += 1
        if up == ASK or down == ASK:
            asked[ends[2]] = other
            ends[2] += 1


@bare_kernel
def evaluate(
    wanted: int, once: bool, width: int, stamp: int, variables: Any, children: Any, owners: Any, count: int,
    columns: Any, asked: Any, left: Any, right: Any, rhs: Any, lhs: Any, covering: Any, covered: Any, work: Any,
) -> None:  # fmt: skip
    """Evaluates the pair of diagrams, node by node, children first.

    `rhs[n]`: whether all predicates down from node n follow from the new conjunction. `lhs[n]`: twice the number of new
    predicates that follow from these, and one more if a closer look is needed; blocked where a predicate is on a column
    of the new conjunction and its predicate does not follow. Early stops as in the paper's Fig 7 if `once`.
    """
    upward, downward = wanted & COVERING != 0, wanted & COVERED != 0
    rhs[TRUE], lhs[TRUE] = YES, 0
    for node in range(count):
        if node != TRUE:
            variable = variables[node]
            if variable == DEAD:
                continue
            work[EVALUATED] += 1
            # Children are evaluated before parents, so both marks of a node come from its child's in one
            # step.
            if upward:
                told = right[variable]
                answer = told & 3 if told >> 2 == stamp else NO
                rhs[node] = min(rhs[children[node]], answer)
            if downward:
                below = lhs[children[node]]
                if below != _BLOCKED and asked[columns[variable]] == stamp:
                    told = left[variable]
                    if told >> 2 != stamp:
                        below = _BLOCKED
                    else:
                        below = (below + 2) | (told & 3 == ASK)
                lhs[node] = below
        # An output node of a stored conjunction: its marks are now final. A certain cover is looked for
        # first, as it may end the evaluation.
        owner = owners[node]
        if owner == NOBODY:
            continue
        if upward and rhs[node] != NO:
            if work[FOUND_COVERING] == len(covering):
                work[FULL] = 1
            else:
                covering[work[FOUND_COVERING], 0], covering[work[FOUND_COVERING], 1] = owner >> 1, rhs[node]
                work[FOUND_COVERING] += 1
                if rhs[node] == YES and once:
                    return
        if downward and lhs[node] >> 1 == width and lhs[node] != _BLOCKED:
            answer = ASK if lhs[node] & 1 else YES
            if work[FOUND_COVERED] == len(covered):
                work[FULL] = 1
            else:
                covered[work[FOUND_COVERED], 0], covered[work[FOUND_COVERED], 1] = owner >> 1, answer
                work[FOUND_COVERED] += 1
                if answer == YES and once and owner & 1 == 0:
                    upward = False


_FIRST_ROOM = 256


class Dependencies:
    """Cached implications: edges from each predicate to the nearest ones it implies, and back (Li et al. 2005, §4.4).

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
        """Makes sure that a predicate is known; returns True if it was not."""
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
        """Marks predicates implied by a known predicate, and those that imply it."""
        assign_by_cache(term, self._up, self._down, self._stack, stamp, left, right)

    def weaker(self, term: int) -> list[int]:
        """Nearest predicates that follow from one."""
        return _targets(term, self._up)

    def stronger(self, term: int) -> list[int]:
        """Nearest predicates that one follows from."""
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
