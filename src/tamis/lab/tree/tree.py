"""Matching tree (Aguilera et al., PODC 1999): its options, conjunctions added as paths of tests and *-edges, and
factoring by index attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.arrays import Arrays, Int32s, Int64s
from tamis.errors import TamisError
from tamis.lab.tree.conjunctions import Conjunctions
from tamis.lab.tree.growing import drop, grow
from tamis.lab.tree.layout import (
    ANNOTATED,
    CLASSES,
    EDGE,
    EDGES,
    ENTRIES_END,
    ENTRIES_FREE,
    LEVEL,
    NODES,
    NODES_END,
    NODES_FREE,
    NONE,
    ON_STAR,
    POOL_END,
    ROOT,
    STALE,
    STAR,
    STATE,
    SUCCESSOR,
    WIDTH,
    annotate_all,
    put,
    refill,
)
from tamis.lab.tree.visiting import paths_of
from tamis.lab.tree.vocabulary import Source, Vocabulary
from tamis.matching.base.flat_arrays import extended
from tamis.matching.codes.columns import Column, Kind

# Options: P1's optimisations, and the tests that are taken to be related.

Related: TypeAlias = Literal["none", "ranges", "all"]
_RELATED = ("none", "ranges", "all")


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """Options of growing and searching a tree (Aguilera et al., PODC 1999, §5).

    `collapse`: a node that has nothing but a *-edge is left out, so that chains of *-edges are one edge.
    `successors`: nodes are annotated with their successors (see layout.py).
    `factor`: the index attributes, single-valued ones that subscriptions rarely leave open: a tree for every
    combination of their values. A subscription that leaves one open stands in the tree of each of its values.
    `related`: which tests are known to imply others. "ranges": a range goes behind the edge of a range around it.
    "all": so do equalities, as the paper has it; an event outside the range is then spared their test, but one inside
    takes it once for each range, so this pays only where few ranges hold.
    `general`: every test is a node. Without, the tree is an equality tree with ranges, and what it cannot hold
    (negations, lists, strings by order, a second member of the same attribute) is tested at the leaves.
    """

    collapse: bool = True
    successors: bool = True
    factor: tuple[str, ...] = ()
    related: Related = "ranges"
    general: bool = False

    def __post_init__(self) -> None:
        if self.related not in _RELATED:
            raise TamisError(f"tests are related by {', '.join(_RELATED)}; there is no {self.related!r}")

    @property
    def relation(self) -> int:
        return _RELATED.index(self.related)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> TreeOptions:
        """Options by name; others keep their defaults. `factor` may be one name."""
        known = [field.name for field in fields(cls)]
        for name, value in form.items():
            if name not in known:
                raise TamisError(f"the tree has no option {name!r}; it has {', '.join(known)}")
            if not isinstance(value, list | tuple | str if name == "factor" else str if name == "related" else bool):
                raise TamisError(f"{value!r} is nothing that the tree's option {name!r} can be")
        named = form.get("factor", ())
        return cls(**{**form, "factor": (named,) if isinstance(named, str) else tuple(named)})


MOST_TREES = 4096  # of all combinations of the index attributes' values: later values stay in the tree of the others
_FACTOR = -2 - (1 << 30)  # stands for factor 0 among the nodes of the edges' table, one less for every next
_ARRAYS = ("nodes", "bounds", "keys", "table", "entries", "outs", "holders", "heads", "state", "roots")


class Tree:
    """Conjunctions by their predicates: a path each, from a root over the tests it asks for to a leaf.

    Level l tests column l of the vocabulary, and levels ascend along every path. A branch node has an edge for every
    value that some conjunction behind it wants, range nodes, and a *-edge to where its level does not matter. All is
    flat arrays that double when they are full (see layout.py), with lists of what is free in them; no change builds
    anything anew. Who changes the tree does so while nobody searches it.

    There is one root, or with index attributes one for every combination of their values (and 0, for all values that
    are none of these): `roots` by the ordinals, the last attribute's fastest.
    """

    def __init__(self, options: TreeOptions, vocabulary: Vocabulary) -> None:
        self.options, self._vocabulary = options, vocabulary
        self.nodes, self.bounds = np.zeros((64, WIDTH), np.int32), np.zeros((64, 2), np.int64)
        self.keys, self.table = np.zeros(128, np.int64), np.full((128, 2), NONE, np.int32)
        self.entries, self.heads = np.zeros((64, 4), np.int32), np.full(64, NONE, np.int32)
        self.outs, self.holders = np.zeros(64, np.int32), np.zeros(64, np.int32)
        self.state = np.zeros(STATE, np.int64)
        self.state[[NODES_FREE, ENTRIES_FREE]], self.state[CLASSES:] = NONE, NONE
        self.values: list[dict[int, int]] = [{} for _ in options.factor]
        self.levels = [self._factor_level(name) for name in options.factor]
        self.roots = np.array([self._root()], np.int32)

    def _factor_level(self, attribute: str) -> int:
        known = self._vocabulary.schema.attributes.get(attribute)
        if known is None or known.multiple:
            raise TamisError(f"{attribute!r} is no single-valued attribute of the schema, so it is no index attribute")
        return self._vocabulary.number(Source(Column(Kind.VALUE, attribute)))

    def _root(self) -> int:
        root = int(self.state[NODES_END])
        self.nodes, self.bounds = extended(self.nodes, root + 1), extended(self.bounds, root + 1)
        self.nodes[root] = NONE
        self.nodes[root, LEVEL], self.nodes[root, EDGE], self.nodes[root, ANNOTATED] = ROOT, ON_STAR, 1
        self.state[NODES_END] += 1
        return root

    @property
    def count(self) -> int:
        """Number of nodes, leaves and range nodes included, roots not: P1 counts the first node of a tree as its
        root."""
        return int(self.state[NODES])

    @property
    def edges(self) -> int:
        """Number of edges of all kinds: P1's measure of space."""
        live = self.nodes[: self.state[NODES_END]]
        return int(self.state[EDGES] + ((live[:, STAR] != NONE) & (live[:, LEVEL] >= 0)).sum())

    @property
    def successors(self) -> int:
        """Number of nodes annotated with a successor: what P1's successor sets add to the edges."""
        live = self.nodes[: self.state[NODES_END]]
        return int(((live[:, SUCCESSOR] != NONE) & (live[:, LEVEL] >= 0)).sum())

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in _ARRAYS)

    @property
    def searched(self) -> tuple[npt.NDArray[Any], ...]:
        return self.nodes, self.bounds, self.keys, self.table, self.state

    @property
    def factors(self) -> Int64s:
        """Level and number of ordinals of each index attribute."""
        sizes = [1 + len(values) for values in self.values]
        return np.array([self.levels, sizes], np.int64).T.reshape(-1, 2).copy()

    def add(self, conjunctions: Conjunctions) -> None:
        """Adds conjunctions, each to all the trees that its index attributes leave to it."""
        self.heads = self._wider_heads(int(conjunctions.owners.max(initial=-1)) + 1)
        self._welcome(conjunctions)
        self._grow(self._units(conjunctions), conjunctions)

    def remove(self, owners: Iterable[int]) -> list[int]:
        """Removes subscriptions; returns the numbers of their special conjunctions."""
        freed = np.empty(len(self.entries) + 1, np.int32)
        count = 0
        for owner in owners:
            if owner >= len(self.heads):  # one that no event can match stands nowhere, and may be the last
                continue
            leaves = self.entries, self.outs, self.holders, self.heads
            count = drop(self.searched, leaves, owner, self.options.collapse, freed, count)
        return np.unique(freed[:count]).tolist()

    def analyse(self) -> None:
        """Annotates all nodes that additions left without successors."""
        if self.state[STALE]:
            annotate_all(*self.searched, int(self.state[NODES_END]))

    def _grow(self, units: Int64s, conjunctions: Conjunctions) -> None:
        dropped = np.array([source.ranked for source in self._vocabulary.sources], np.uint8)
        stars = 0 if self.options.collapse else len(dropped)
        done = 0
        while done < len(units):
            leaves = self.entries, self.outs, self.holders, self.heads
            done = grow(
                self.searched, leaves, units, done, conjunctions.offsets, conjunctions.levels, conjunctions.lows,
                conjunctions.highs, conjunctions.owners, conjunctions.specials, np.array(self.levels, np.int64),
                dropped, stars, self.options.relation,
            )  # fmt: skip
            if done < len(units):
                self._extend(len(units) - done, stars + 8 + 4 * int(np.diff(conjunctions.offsets).max(initial=0)))

    def _extend(self, units: int, largest: int) -> None:
        """Doubles all arrays that are more than three quarters full."""
        state = self.state
        if state[NODES_END] + largest > 0.75 * len(self.nodes):
            rows = 2 * len(self.nodes) + largest
            self.nodes, self.bounds = extended(self.nodes, rows), extended(self.bounds, rows)
        if 2 * (state[EDGES] + largest) > 0.75 * len(self.keys):
            size = len(self.keys)
            while 2 * (state[EDGES] + largest) > 0.75 * size:
                size *= 2
            keys, table = np.zeros(size, np.int64), np.full((size, 2), NONE, np.int32)
            refill(self.keys, self.table, keys, table)
            self.keys, self.table = keys, table
        if state[ENTRIES_END] + 1 > 0.75 * len(self.entries):
            self.entries = extended(self.entries, 2 * len(self.entries) + 1)
        if state[POOL_END] + 1 > 0.5 * len(self.outs):
            rows = 4 * len(self.outs)
            self.outs, self.holders = extended(self.outs, rows), extended(self.holders, rows)

    def _wider_heads(self, owners: int) -> Int32s:
        if owners <= len(self.heads):
            return self.heads
        wider = np.full(max(owners, 2 * len(self.heads)), NONE, np.int32)
        wider[: len(self.heads)] = self.heads
        return wider

    # Factoring (P1 §5): one tree for every combination of the index attributes' values.

    def _fixed(self, conjunctions: Conjunctions, factor: int) -> tuple[Int64s, Int64s]:
        """Least and greatest value that each conjunction leaves to an index attribute."""
        lows = np.full(len(conjunctions), np.iinfo(np.int64).min)
        highs = np.full(len(conjunctions), np.iinfo(np.int64).max)
        some = np.flatnonzero(conjunctions.levels == self.levels[factor])
        owners = np.searchsorted(conjunctions.offsets, some, side="right") - 1
        lows[owners], highs[owners] = conjunctions.lows[some], conjunctions.highs[some]
        return lows, highs

    def _welcome(self, conjunctions: Conjunctions) -> None:
        """Adds trees for values of index attributes that no conjunction fixed so far."""
        for factor, known in enumerate(self.values):
            lows, highs = self._fixed(conjunctions, factor)
            for value in np.unique(lows[lows == highs]).tolist():
                if value not in known and len(self.roots) // (len(known) + 1) * (len(known) + 2) <= MOST_TREES:
                    self._divide(factor, value)

    def _divide(self, factor: int, value: int) -> None:
        """Adds a tree for a value, in every combination, and copies what the tree of the other values holds for it."""
        shape = tuple(1 + len(values) for values in self.values)
        self.values[factor][value] = shape[factor]
        self._extend(1, 16)
        put(self.keys, self.table, _FACTOR - factor, value, shape[factor])
        self.state[EDGES] += 1
        roots = self.roots.reshape(shape)
        others = np.take(roots, 0, axis=factor)
        fresh = np.array([self._root() for _ in range(others.size)], np.int32).reshape(others.shape)
        self.roots = np.concatenate([roots, np.expand_dims(fresh, factor)], axis=factor).reshape(-1)
        for old, new in zip(others.reshape(-1).tolist(), fresh.reshape(-1).tolist(), strict=True):
            self._copy(old, new, factor, value)

    def _copy(self, old: int, new: int, factor: int, value: int) -> None:
        if self.nodes[old, STAR] == NONE:
            return
        held = paths_of(self.nodes, self.bounds, self.entries, self.heads, old)
        lows, highs = self._fixed(held, factor)
        chosen = np.flatnonzero((lows <= value) & (value <= highs))
        units = np.column_stack([np.full(len(chosen), new), chosen, np.full(len(chosen), 1 << factor)])
        self._grow(units, held)

    def _units(self, conjunctions: Conjunctions) -> Int64s:
        """Rows (root, conjunction, bits of the index attributes that the root implies)."""
        count = len(conjunctions)
        if not self.values:
            return np.column_stack([np.full(count, self.roots[0]), np.arange(count), np.zeros(count, np.int64)])
        bounds = np.column_stack([edge for f in range(len(self.values)) for edge in self._fixed(conjunctions, f)])
        distinct, which = np.unique(bounds, axis=0, return_inverse=True)
        members = np.argsort(which.reshape(-1), kind="stable")
        ends = np.cumsum(np.bincount(which.reshape(-1), minlength=len(distinct)))
        pieces = [np.zeros((0, 3), np.int64)]
        for row, some in zip(distinct, np.split(members, ends[:-1]) if count else (), strict=False):
            for root, bits in self._trees(row.reshape(-1, 2).tolist()):
                pieces.append(np.column_stack([np.full(len(some), root), some, np.full(len(some), bits)]))
        return np.concatenate(pieces)

    def _trees(self, bounds: list[list[int]]) -> list[tuple[int, int]]:
        """Roots of the trees that these bounds of the index attributes lead to, and which of them each implies."""
        choices = []
        for (low, high), known in zip(bounds, self.values, strict=True):
            if low == high and low in known:
                choices.append([known[low]])
            else:
                choices.append([0, *(ordinal for value, ordinal in known.items() if low <= value <= high)])
        shape = tuple(1 + len(values) for values in self.values)
        roots = self.roots.reshape(shape)
        return [
            (int(roots[place]), sum(1 << i for i, ordinal in enumerate(place) if ordinal))
            for place in product(*choices)
        ]

    def arrays(self) -> Arrays:
        return {name: getattr(self, name) for name in _ARRAYS}

    def about(self) -> dict[str, Any]:
        return {"options": self.options.to_dict(), "values": [list(values) for values in self.values]}

    @classmethod
    def restore(cls, vocabulary: Vocabulary, about: dict[str, Any], arrays: Arrays) -> Tree:
        tree = cls(TreeOptions.from_dict(about["options"]), vocabulary)
        for name in _ARRAYS:
            setattr(tree, name, arrays[name])
        tree.values = [{value: i + 1 for i, value in enumerate(values)} for values in about["values"]]
        return tree
