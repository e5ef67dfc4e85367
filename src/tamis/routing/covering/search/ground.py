"""Data shared by a search for covers: facts, classes of equal filters, their demands, and the columns of the index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tamis.arrays import Arrays, Bools, Int32s, Int64s
from tamis.matching.codes.encoding import MOST_COLUMNS, Conjuncts, refuse_excess
from tamis.matching.codes.files import read_arrays, write_arrays
from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.facts.kernels import ABSENT, EVERY, PATTERN, SOME
from tamis.routing.covering.search.kernels import drop_implied

# Classes: filters with equal sets of conjunctions are one class.

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
    """Classes of `count` filters, given each conjunction's number among the facts."""
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
    """Groups filters with equal runs of members, numbered by their first filter."""
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


# Demand of a conjunction: a number that falls, or stays, from every filter to those that cover it.
#
# So the filters that may cover another one are among those of no greater demand, and the few of least demand can be
# looked at first.

_BIT = 1 << 16  # sums of whole numbers do not depend on the order in which they are added
_NAMED = 1  # bits for asking for an attribute at all


def demands(facts: Facts) -> Int64s:
    """Demand of each conjunction in bits: for each attribute one for its presence, or absence, and those of the
    smallest set that every value, or some value, must be in.

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


@dataclass(frozen=True)
class Ground:
    """Flat arrays of a search for covers, which worker processes can map into memory.

    The columns of the index of corners: for attribute a its least place in column 2a and its greatest in 2a + 1; then,
    where needed, how great some value is at least and how small some value is at most (`extremes`, two columns),
    absence, and, as sets, members and patterns; -1 where an attribute has no such column. The first `singles` columns
    hold one code an event.
    """

    arrays: Arrays

    @classmethod
    def of(cls, facts: Facts, classes: Classes) -> Ground:
        asks = demands(facts)
        of_members = asks[classes.members]
        least = np.minimum.reduceat(of_members, classes.offsets[:-1]) if len(classes) else of_members
        owner_ends, owners = classes.owners(len(facts))
        arrays: Arrays = {
            "facts.offsets": facts.offsets, "facts.attributes": facts.attributes, "facts.kinds": facts.kinds,
            "facts.numbers": facts.numbers, "sets.offsets": facts.set_offsets, "sets.lows": facts.lows,
            "sets.highs": facts.highs, "places.firsts": facts.places.firsts, "places.codes": facts.places.codes,
            "others": facts.others, "classes.offsets": classes.offsets, "classes.members": classes.members,
            "owners.ends": owner_ends, "owners.classes": owners, "demands": least, "probes": _hardest(asks, classes),
        }  # fmt: skip
        for name, runs in (("hits", facts.hits), ("implied", facts.implied)):
            arrays |= {f"{name}.bases": runs.bases, f"{name}.offsets": runs.offsets, f"{name}.numbers": runs.numbers}
        return cls(arrays | _columns(facts))

    def save(self, path: Path) -> None:
        write_arrays(path, self.arrays, {})

    @classmethod
    def open(cls, path: Path) -> Ground:
        return cls(read_arrays(path, verify=False)[0])

    @property
    def facts(self) -> tuple[Any, ...]:
        """Arrays of `Facts.flat`."""
        return self._some("facts.offsets", "facts.attributes", "facts.kinds", "facts.numbers")

    @property
    def sets(self) -> tuple[Any, ...]:
        """Arrays of `Facts.sets`."""
        return self._some("sets.offsets", "sets.lows", "sets.highs")

    @property
    def patterns(self) -> tuple[Any, ...]:
        """Arrays of `Facts.patterns`."""
        hits = self._some("hits.bases", "hits.offsets", "hits.numbers")
        implied = self._some("implied.bases", "implied.offsets", "implied.numbers")
        return hits, implied, self.arrays["places.firsts"], self.arrays["places.codes"]

    @property
    def others(self) -> Int32s:
        """Second attribute of each column that compares two."""
        return self.arrays["others"]

    @property
    def places(self) -> Int64s:
        """Number of places of each attribute."""
        return np.diff(self.arrays["places.firsts"])

    @property
    def layout(self) -> tuple[Any, ...]:
        """Each attribute's columns of extremes, absence, members and patterns."""
        return self._some("extremes", "absences", "members", "patterns")

    @property
    def singles(self) -> int:
        return int(self.arrays["columns"][0])

    @property
    def columns(self) -> int:
        return int(self.arrays["columns"][1])

    @property
    def classes(self) -> tuple[Any, ...]:
        """Ends and members of each class."""
        return self._some("classes.offsets", "classes.members")

    @property
    def owners(self) -> tuple[Any, ...]:
        """For each conjunction the classes that have it: ends, and classes."""
        return self._some("owners.ends", "owners.classes")

    @property
    def demands(self) -> Int64s:
        """Demand of each class: the least of its conjunctions."""
        return self.arrays["demands"]

    @property
    def probes(self) -> Int64s:
        """Conjunction by which covers of a class are looked up: the one of greatest demand."""
        return self.arrays["probes"]

    def members_of(self, some: Int64s) -> Int64s:
        """Distinct conjunctions of some classes."""
        offsets, members = self.classes
        starts, sizes = offsets[some], np.diff(offsets)[some]
        ends = np.cumsum(sizes)
        chosen = np.repeat(starts - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
        return np.unique(members[chosen]).astype(np.int64)

    def _some(self, *names: str) -> tuple[Any, ...]:
        return tuple(self.arrays[name] for name in names)


def _columns(facts: Facts) -> Arrays:
    count, several = len(facts.names), int(facts.multiple.sum())
    absent, matched = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    absent[facts.attributes[facts.kinds == ABSENT]] = True
    matched[facts.attributes[facts.kinds == PATTERN]] = True
    singles = 2 * count + 2 * several + int(absent.sum())
    columns = singles + several + int(matched.sum())
    refuse_excess(columns, MOST_COLUMNS, "attributes to compare")
    return {
        "extremes": _numbered(facts.multiple, 2 * count, 2),
        "absences": _numbered(absent, 2 * count + 2 * several, 1),
        "members": _numbered(facts.multiple, singles, 1),
        "patterns": _numbered(matched, singles + several, 1),
        "columns": np.array([singles, columns], np.int64),
    }


def _numbered(wanted: Bools, first: int, step: int) -> Int32s:
    """Column numbers from `first` on for wanted attributes, `step` apart; -1 for the others."""
    return np.where(wanted, first + step * (np.cumsum(wanted) - 1), -1).astype(np.int32)


def _hardest(asks: Int64s, classes: Classes) -> Int64s:
    """For each class the conjunction of greatest demand: the fewest others cover it."""
    if not len(classes):
        return np.zeros(0, np.int64)
    owners = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
    order = np.lexsort((asks[classes.members], owners))
    return classes.members[order[classes.offsets[1:] - 1]].astype(np.int64)
