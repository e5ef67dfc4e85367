"""Filters as classes: those that ask for the same are one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.arrays import Int32s, Int64s
from tamis.matching.codes.codes import Conjuncts
from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.facts.kernels import EVERY, SOME
from tamis.routing.covering.search.kernels import drop_implied

NEVER = -1


@dataclass(frozen=True)
class Classes:
    """Class k is the disjunction of the conjunctions `members[offsets[k]:offsets[k + 1]]`, ascending.

    `of[s]`: the class of filter s, or NEVER if no event matches it. `first[k]`: its filter of the lowest number.
    """

    of: Int32s
    first: Int64s
    offsets: Int64s
    members: Int32s

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def owners(self, conjunctions: int) -> tuple[Int64s, Int32s]:
        """For each conjunction the classes that have it: ends, and classes."""
        order = np.argsort(self.members, kind="stable")
        classes = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(self.members, minlength=conjunctions))])
        return ends, classes[order]


def classes_of(conjuncts: Conjuncts, distinct: Int32s, facts: Facts, filters: int) -> Classes:
    """The classes of so many filters, given each conjunction's number among the facts."""
    owners = np.concatenate([np.arange(conjuncts.simple), conjuncts.owners]).astype(np.int64)
    pairs = np.unique(np.stack([owners, distinct], axis=1)[distinct >= 0], axis=0)
    counts = np.bincount(pairs[:, 0], minlength=filters)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    kept = np.ones(len(pairs), np.bool_)
    several = np.flatnonzero(counts > 1)
    if len(several):
        members = np.ascontiguousarray(pairs[:, 1])
        drop_implied(offsets, members, kept, facts.flat, facts.sets, facts.patterns, facts.others)
    pairs = pairs[kept]
    counts = np.bincount(pairs[:, 0], minlength=filters)
    return _grouped(pairs[:, 1], np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))


def _grouped(members: Int64s, offsets: Int64s) -> Classes:
    """Filters with equal runs of members together, numbered by their first filter."""
    counts = np.diff(offsets)
    of = np.full(len(counts), NEVER, np.int32)
    first: list[Int64s] = []
    for size in np.unique(counts[counts > 0]).tolist():
        filters = np.flatnonzero(counts == size)
        runs = members[offsets[filters][:, None] + np.arange(size)]
        _, where, which = np.unique(runs, axis=0, return_index=True, return_inverse=True)
        of[filters] = which.reshape(-1) + sum(map(len, first))
        first.append(filters[where])
    leaders = np.concatenate([np.zeros(0, np.int64), *first])
    order = np.argsort(leaders)
    renumbered = np.empty(len(order), np.int32)
    renumbered[order] = np.arange(len(order), dtype=np.int32)
    of[of >= 0] = renumbered[of[of >= 0]]
    leaders = leaders[order]
    sizes = counts[leaders]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    places = np.repeat(offsets[leaders] - ends[:-1], sizes) + np.arange(ends[-1])
    return Classes(of, leaders, ends, members[places].astype(np.int32))


# How much a conjunction asks for, as a number that falls, or stays, from every filter to those that cover it.
#
# So the filters that may cover another one are among those that ask for no more, and the few that ask for least can be
# looked at first.

_BIT = 1 << 16  # sums of whole numbers do not depend on the order in which they are added
_NAMED = 1  # bits for asking for an attribute at all


def demands(facts: Facts) -> Int64s:
    """For each conjunction the bits that it asks for: of each attribute one for its presence, or absence, and those of
    the smallest set that every value, or some value, must be in.

    A conjunction that covers another names no other attributes, and of each the sets are no smaller.
    """
    sized = (facts.kinds == EVERY) | (facts.kinds == SOME)
    share = np.ones(len(facts.kinds))
    all_places = facts.places.counts[facts.attributes[sized]]
    share[sized] = facts.sizes[facts.numbers[sized]] / np.maximum(1, all_places)
    bits = np.rint(-np.log2(share) * _BIT).astype(np.int64)
    # Facts are by attribute: the largest demand of each run of facts on one attribute counts.
    conjunction = np.repeat(np.arange(len(facts)), np.diff(facts.offsets))
    asked = np.zeros(len(facts), np.int64)
    if len(bits):
        new = np.ones(len(bits), np.bool_)
        new[1:] = (conjunction[1:] != conjunction[:-1]) | (facts.attributes[1:] != facts.attributes[:-1])
        starts = np.flatnonzero(new)
        np.add.at(asked, conjunction[starts], np.maximum.reduceat(bits, starts) + _NAMED * _BIT)
    return asked
