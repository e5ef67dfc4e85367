"""Multi-rooted decision diagrams of conjunctions, hash-consed so that lower parts are shared, and the matching
kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays import Int32s, Int64s
from tamis.compiled import bare_kernel
from tamis.lab.le_subscribe.counting import count
from tamis.lab.le_subscribe.verified import load, settle
from tamis.matching.base.flat_arrays import extended
from tamis.matching.base.matcher import CANDIDATES, NODES

# Hash-consed nodes, and their evaluation.
#
# Node n > 0 is `variables[n]` and, if that holds, `children[n]`; if not, it is false, so the low child is not stored.
# Node 0 is true. A child is numbered before its parents. `table` is an open hash table of the nodes.

TRUE = 0
DEAD = -1
EMPTY = -1
# Counters: nodes, and dead nodes among them.
MADE, GONE = range(2)
_FACTOR, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT = np.uint64(29)


@bare_kernel
def slot_of(variable: int, child: int, variables: Any, children: Any, table: Any) -> Any:
    """Slot of a node in the table, or the one it would have."""
    hashed = np.uint64(variable) * _FACTOR + np.uint64(child) * _OTHER
    slot = np.int64((hashed ^ (hashed >> _SHIFT)) & np.uint64(len(table) - 1))
    while table[slot] != EMPTY:
        node = table[slot]
        if variables[node] == variable and children[node] == child:
            break
        slot = (slot + 1) & (len(table) - 1)
    return slot


@bare_kernel
def add_chain(chain: Any, begin: int, end: int, variables: Any, children: Any, uses: Any, table: Any, work: Any) -> int:
    """Output node of a conjunction, its variables bottom first; existing lower parts are shared."""
    node = TRUE
    for i in range(begin, end):
        slot = slot_of(chain[i], node, variables, children, table)
        if table[slot] == EMPTY:
            new = work[MADE]
            work[MADE] += 1
            variables[new], children[new], uses[new] = chain[i], node, 0
            uses[node] += 1
            table[slot] = new
        node = table[slot]
    uses[node] += 1
    return node


@bare_kernel
def add_chains(
    offsets: Any, chains: Any, variables: Any, children: Any, uses: Any, table: Any, work: Any, roots: Any
) -> None:
    """Output nodes of many chains, written to `roots`."""
    for c in range(len(offsets) - 1):
        roots[c] = add_chain(chains, offsets[c], offsets[c + 1], variables, children, uses, table, work)


@bare_kernel
def drop_node(node: int, variables: Any, children: Any, uses: Any, work: Any) -> None:
    """Releases one use of a node; unused nodes are dead, though they stay in the table for now."""
    uses[node] -= 1
    while node != TRUE and uses[node] == 0:
        child = children[node]
        variables[node] = DEAD
        work[GONE] += 1
        uses[child] -= 1
        node = child


@bare_kernel
def collect(variables: Any, children: Any, uses: Any, table: Any, work: Any, moved: Any) -> None:
    """Compacts the arrays over dead nodes; `moved` gets every living node's new number."""
    for slot in range(len(table)):
        table[slot] = EMPTY
    kept = 0
    for node in range(work[MADE]):
        if node != TRUE and variables[node] == DEAD:
            moved[node] = DEAD
            continue
        moved[node] = kept
        variables[kept], uses[kept] = variables[node], uses[node]
        children[kept] = moved[children[node]] if node != TRUE else TRUE
        if kept != TRUE:
            table[slot_of(variables[kept], children[kept], variables, children, table)] = kept
        kept += 1
    work[MADE], work[GONE] = kept, 0


@bare_kernel
def enter_all(variables: Any, children: Any, table: Any, made: int) -> None:
    """Fills an empty hash table with the living nodes."""
    for node in range(1, made):
        if variables[node] != DEAD:
            table[slot_of(variables[node], children[node], variables, children, table)] = node


@bare_kernel
def match_by_diagrams(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`. `own`: predicates, and diagrams over them; `scratch`: the truth of predicates, and of nodes."""
    predicates, diagrams = own
    truth, holds = scratch
    variables, children, starts, rows = diagrams.variables, diagrams.children, diagrams.starts, diagrams.rows
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        # Predicates first: every distinct one is decided once, and `truth` has the result of each.
        for variable in range(len(truth)):
            truth[variable] = 0
        count(predicates, e, event, sets, truth, work)
        # Then nodes in ascending order, which is children first: each is one AND, and outputs its
        # conjunctions.
        holds[TRUE] = 1
        for i in range(starts[TRUE], starts[TRUE + 1]):
            out[end] = rows[i]
            end += 1
        for node in range(1, len(variables)):
            held = truth[variables[node]] & holds[children[node]]
            holds[node] = held
            if held:
                for i in range(starts[node], starts[node + 1]):
                    out[end] = rows[i]
                    end += 1
        work[NODES] += len(variables) - 1
        work[CANDIDATES] += end - ends[e]
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)


_ROOM = 1024
_FULL = 0.5


class Diagrams:
    """Nodes of all conjunctions (Li, Hou and Jacobsen 2005, §3): each distinct one once, children before parents.

    A conjunction is a chain from its output node down to TRUE, which others share from some node on. Nodes that nobody
    uses any more are garbage; once they are the larger part, the others close up and get new numbers.

    Departs: only conjunctions are held, so a node's low child is always *false* and is not stored.
    """

    def __init__(self, room: int = _ROOM) -> None:
        self.variables = np.zeros(room, np.int32)
        self.children = np.zeros(room, np.int32)
        self.uses = np.zeros(room, np.int32)
        self._table = np.full(_slots(room), EMPTY, np.int32)
        self._work = np.array([1, 0], np.int64)
        self._chain = np.zeros(64, np.int32)

    def __len__(self) -> int:
        """Number of nodes in use, TRUE among them."""
        return int(self._work[MADE] - self._work[GONE])

    @property
    def end(self) -> int:
        """Upper end of node numbers; nodes whose variable is DEAD are not in use."""
        return int(self._work[MADE])

    def add(self, chain: tuple[int, ...]) -> int:
        """Output node of a conjunction, its variables from the bottom up."""
        self._make_room(len(chain))
        if len(chain) > len(self._chain):
            self._chain = np.zeros(2 * len(chain), np.int32)
        self._chain[: len(chain)] = chain
        return int(
            add_chain(self._chain, 0, len(chain), self.variables, self.children, self.uses, self._table, self._work)
        )

    def add_all(self, offsets: Int64s, chains: Int32s) -> Int32s:
        """Output nodes of many conjunctions."""
        self._make_room(len(chains))
        roots = np.zeros(len(offsets) - 1, np.int32)
        add_chains(offsets, chains, self.variables, self.children, self.uses, self._table, self._work, roots)
        return roots

    def drop(self, root: int) -> Int32s | None:
        """Removes one conjunction. If nodes were renumbered, returns their new numbers, which users of nodes must
        adopt."""
        drop_node(root, self.variables, self.children, self.uses, self._work)
        if self._work[GONE] <= max(_ROOM, self._work[MADE] // 2):
            return None
        moved = np.zeros(self.end, np.int32)
        collect(self.variables, self.children, self.uses, self._table, self._work, moved)
        return moved

    def _make_room(self, more: int) -> None:
        needed = self.end + more
        if needed > len(self.variables):
            for name in ("variables", "children", "uses"):
                setattr(self, name, extended(getattr(self, name), needed))
        if needed > _FULL * len(self._table):
            self._table = np.full(_slots(2 * needed), EMPTY, np.int32)
            enter_all(self.variables, self.children, self._table, self._work[MADE])


def _slots(entries: int) -> int:
    size = 2 * _ROOM
    while size < 2 * entries:
        size *= 2
    return size


__all__ = ["TRUE", "Diagrams"]
