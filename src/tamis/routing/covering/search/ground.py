"""Common ground of a search for covers: facts, classes, and the columns of each attribute."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tamis.arrays import Arrays, Bools, Int32s, Int64s
from tamis.matching.codes.codes import MOST_COLUMNS, refuse_excess
from tamis.matching.codes.files import read_arrays, write_arrays
from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.facts.kernels import ABSENT, PATTERN
from tamis.routing.covering.search.classes import Classes, demands


@dataclass(frozen=True)
class Ground:
    """Flat arrays, so that worker processes can map them into memory.

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
        """As `Facts.flat`."""
        return self._some("facts.offsets", "facts.attributes", "facts.kinds", "facts.numbers")

    @property
    def sets(self) -> tuple[Any, ...]:
        """As `Facts.sets`."""
        return self._some("sets.offsets", "sets.lows", "sets.highs")

    @property
    def patterns(self) -> tuple[Any, ...]:
        """As `Facts.patterns`."""
        hits = self._some("hits.bases", "hits.offsets", "hits.numbers")
        implied = self._some("implied.bases", "implied.offsets", "implied.numbers")
        return hits, implied, self.arrays["places.firsts"], self.arrays["places.codes"]

    @property
    def others(self) -> Int32s:
        """The second attribute of each column that compares two."""
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
        """Generality of each class: the least of its conjunctions."""
        return self.arrays["demands"]

    @property
    def probes(self) -> Int64s:
        """The conjunction by which what covers a class is looked up: the one that asks for most."""
        return self.arrays["probes"]

    def members_of(self, some: Int64s) -> Int64s:
        """The conjunctions of some classes, each once."""
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
    """Column numbers from `first` on for those wanted, so many each; -1 for the others."""
    return np.where(wanted, first + step * (np.cumsum(wanted) - 1), -1).astype(np.int32)


def _hardest(asks: Int64s, classes: Classes) -> Int64s:
    """Of each class the conjunction that asks for most: the fewest others cover it."""
    if not len(classes):
        return np.zeros(0, np.int64)
    owners = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
    order = np.lexsort((asks[classes.members], owners))
    return classes.members[order[classes.offsets[1:] - 1]].astype(np.int64)
