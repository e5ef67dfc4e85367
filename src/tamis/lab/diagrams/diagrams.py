"""Multi-rooted diagrams: conjunctions of Boolean variables whose lower parts are shared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.lab.diagrams.kernels import EMPTY, GONE, MADE, TRUE, add_chain, add_chains, collect, drop_node, enter_all
from tamis.matching.room import extended

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

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
        """Nodes in use, TRUE among them."""
        return int(self._work[MADE] - self._work[GONE])

    @property
    def end(self) -> int:
        """Nodes are numbered below this; those whose variable is DEAD are none."""
        return int(self._work[MADE])

    def add(self, chain: tuple[int, ...]) -> int:
        """The output node of a conjunction, its variables from the bottom up."""
        self._make_room(len(chain))
        if len(chain) > len(self._chain):
            self._chain = np.zeros(2 * len(chain), np.int32)
        self._chain[: len(chain)] = chain
        return int(
            add_chain(self._chain, 0, len(chain), self.variables, self.children, self.uses, self._table, self._work)
        )

    def add_all(self, offsets: Int64s, chains: Int32s) -> Int32s:
        """The output nodes of many conjunctions."""
        self._make_room(len(chains))
        roots = np.zeros(len(offsets) - 1, np.int32)
        add_chains(offsets, chains, self.variables, self.children, self.uses, self._table, self._work, roots)
        return roots

    def drop(self, root: int) -> Int32s | None:
        """One conjunction less. If nodes moved: where each went; whoever holds numbers must look there."""
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
