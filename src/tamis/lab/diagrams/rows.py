"""Covering by decision diagrams: conjunctions of a covering table, added, removed, and related to a new one; attribute
order from past filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from tamis.lab.diagrams.dependencies import NOBODY, Dependencies, assign_by_scan, evaluate
from tamis.lab.diagrams.diagrams import Diagrams
from tamis.lab.diagrams.matcher import from_the_top
from tamis.language.forms import Filter
from tamis.language.predicates import Literal, attributes_of
from tamis.routing.standing.predicate_index import PredicateIndex, Terms
from tamis.routing.standing.rows import COVERED, COVERING, Related, Relating

_ROWS = 256


class DiagramRows:
    """Rows of a `CoveringTable` as diagrams: the paper's covering algorithm (Li, Hou and Jacobsen 2005, §4.2 to 4.4).

    A new conjunction gives every predicate of the index two bits, whether it covers and whether it is covered; then the
    diagrams are evaluated with both. `order`: the attributes from the top of the diagrams down; those that are not in
    it come first. `cache`: dependencies of predicates are remembered instead of compared anew. `one_pass`: both bits of
    a node at once, instead of one direction after the other.

    Departs: that a conjunction with fewer attributes covers another one asks that the other has all of them, which two
    bits cannot tell: a node counts them.
    """

    def __init__(
        self, index: PredicateIndex, order: Sequence[str] = (), *, cache: bool = True, one_pass: bool = True
    ) -> None:
        self._index, self._one_pass = index, one_pass
        self._ranks = {name: rank for rank, name in enumerate(order)}
        self.diagrams = Diagrams()
        self.dependencies = Dependencies(index) if cache else None
        self._owners = np.full(_ROWS, NOBODY, np.int32)
        self._roots: dict[tuple[int, Terms], int] = {}
        self._shared: dict[int, dict[int, bool]] = {}
        self._stamp = 0
        self._left, self._right = np.zeros(_ROWS, np.int64), np.zeros(_ROWS, np.int64)
        self._asked = np.zeros(_ROWS, np.int64)
        self._rhs, self._lhs = np.zeros(_ROWS, np.int8), np.zeros(_ROWS, np.int32)
        self._relating = Relating(_ROWS)

    def add(self, owner: int, terms: Terms, alone: bool) -> None:
        """Adds a conjunction of an owner, who does not have it yet; `alone`: it will be the owner's only one."""
        root = self.diagrams.add(self._chain(terms))
        self._make_room()
        self._roots[owner, terms] = root
        self._shared.setdefault(root, {})[owner] = alone
        self._owners[root] = 2 * owner + (not alone)

    def remove(self, owner: int, terms: Terms) -> None:
        root = self._roots.pop((owner, terms))
        owners = self._shared[root]
        del owners[owner]
        self._owners[root] = NOBODY
        if owners:
            other, alone = next(iter(owners.items()))
            self._owners[root] = 2 * other + (not alone)
        else:
            del self._shared[root]
        moved = self.diagrams.drop(root)
        if moved is not None:
            self._roots = {key: int(moved[node]) for key, node in self._roots.items()}
            self._shared = {int(moved[node]): owners for node, owners in self._shared.items()}
            self._owners[:] = NOBODY
            for node, owners in self._shared.items():
                other, alone = next(iter(owners.items()))
                self._owners[node] = 2 * other + (not alone)

    def relate(self, terms: Terms, *, covering: bool = True, covered: bool = True, once: bool = True) -> Related:
        """Pairs of the conjunctions that cover one, and of those that it covers."""
        self.assign(terms)
        if self._one_pass:
            return self._evaluate(COVERING * covering + COVERED * covered, len(terms), once)
        above = self._evaluate(COVERING, len(terms), once)[0].copy() if covering else self._relating.covering[:0]
        if not covered:
            return above, self._relating.covered[:0]
        return above, self._evaluate(COVERED, len(terms), once)[1]

    def assign(self, terms: Terms) -> None:
        """First of two steps: marks every predicate by its relation to those of a conjunction."""
        index = self._index
        if len(self._left) < len(index.columns):
            self._left, self._right = np.zeros(len(index.columns), np.int64), np.zeros(len(index.columns), np.int64)
        widest = max(map(index.column, terms), default=0)
        if widest >= len(self._asked):
            self._asked = np.zeros(2 * widest, np.int64)
        self._stamp += 1
        if self.dependencies is not None:
            for term in terms:
                self.dependencies.enter(term)
        for term in terms:
            self._asked[index.column(term)] = self._stamp
            if self.dependencies is not None:
                self.dependencies.assign(term, self._stamp, self._left, self._right)
            else:
                assign_by_scan(
                    term, index.columns, index.alive, index.end, index.flat, self._stamp, self._left, self._right
                )

    def _evaluate(self, wanted: int, width: int, once: bool) -> Related:
        nodes = self.diagrams
        told = (
            wanted, once, width, self._stamp, nodes.variables, nodes.children, self._owners, nodes.end,
            self._index.columns, self._asked, self._left, self._right, self._rhs, self._lhs,
        )  # fmt: skip
        return self._relating.find(partial(evaluate, *told))

    def _chain(self, terms: Terms) -> tuple[int, ...]:
        return tuple(sorted(terms, key=self._rank, reverse=True))

    def _rank(self, term: int) -> tuple[int, int]:
        said = self._index[term].said
        rank = -1 if said is None else self._ranks.get(said.attribute.name, -1)
        return rank, self._index.column(term)

    def _make_room(self) -> None:
        if self.diagrams.end > len(self._owners):
            more = np.full(len(self._owners) + self.diagrams.end, NOBODY, np.int32)
            self._owners = np.concatenate([self._owners, more])
            self._rhs, self._lhs = np.zeros(len(self._owners), np.int8), np.zeros(len(self._owners), np.int32)


# Order of attributes in the diagrams, from the predicates of past filters.


def order_from_history(filters: Iterable[Filter]) -> list[str]:
    """Attributes of past filters, from the top of the diagrams down."""
    uses: dict[str, int] = {}
    distinct: dict[str, set[Literal]] = {}
    for filter in filters:
        for conjunct in filter.conjuncts:
            for literal in conjunct:
                name = attributes_of(literal)[0]
                uses[name] = uses.get(name, 0) + 1
                distinct.setdefault(name, set()).add(literal)
    names = sorted(uses)
    places = from_the_top(np.array([uses[n] for n in names]), np.array([len(distinct[n]) for n in names]))
    return [names[place] for place in places.tolist()]
