"""The index in which conjunctions are found that may cover another one.

A range covers another one iff it holds its least and its greatest value. So a conjunction is indexed by what it asks of
the least value that a covered one allows, and of the greatest, as two columns; and the covered one is an event that has
these two corners for values. The columnar engine finds whatever matches. For conjunctions of ranges on single-valued
attributes that is the answer; what it leaves out (holes in sets, exclusions, further members and patterns) is verified
on the facts afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tamis.matching.columnar.buckets.pool import Buckets, fill
from tamis.matching.columnar.codes import ABSENT as NOTHING
from tamis.matching.columnar.codes import HIGHEST, MOST_COLUMNS, refuse_excess
from tamis.matching.columnar.encoding.columns import Column, Encoder, Kind
from tamis.matching.columnar.encoding.dictionary import Dictionary
from tamis.matching.columnar.intrinsics import has_compress
from tamis.matching.columnar.lowering.conjuncts import Conjuncts
from tamis.matching.columnar.planning.kernels import FINEST
from tamis.matching.columnar.planning.knowledge import LEAST_PRESENCE, Knowledge
from tamis.matching.columnar.planning.plan import Plan, plan
from tamis.matching.columnar.probing.kernels import PROBES, match_events
from tamis.matching.patterns import PatternSet
from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.facts.kernels import ABSENT, PATTERN
from tamis.routing.covering.search.kernels import conditions, corners, members_of, patterns_of
from tamis.schema import Schema

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

_SAMPLE = 20_000
_SLACK = 64  # words the kernel may write past an event's matches
_ROOM = 1 << 19  # matches that are looked at together, or those of one event if they are more
_NONE32, _NONE64 = np.zeros(0, np.int32), np.zeros(0, np.int64)


@dataclass(frozen=True)
class Layout:
    """The columns: for attribute a its least place in column 2a and its greatest in 2a + 1; then, where needed, how
    great some value is at least and how small some value is at most, absence, and, as sets, members and patterns.

    -1 where an attribute has no such column. `singles` columns hold one code an event.
    """

    extremes: Int32s
    absences: Int32s
    members: Int32s
    patterns: Int32s
    singles: int
    columns: int

    @classmethod
    def of(cls, facts: Facts) -> Layout:
        count = len(facts.names)
        absent, matched = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        absent[facts.attributes[facts.kinds == ABSENT]] = True
        matched[facts.attributes[facts.kinds == PATTERN]] = True
        extremes = _numbered(facts.multiple, 2 * count, 2)
        absences = _numbered(absent, 2 * count + 2 * int(facts.multiple.sum()), 1)
        singles = 2 * count + 2 * int(facts.multiple.sum()) + int(absent.sum())
        members = _numbered(facts.multiple, singles, 1)
        patterns = _numbered(matched, singles + int(facts.multiple.sum()), 1)
        columns = singles + int(facts.multiple.sum()) + int(matched.sum())
        refuse_excess(columns, MOST_COLUMNS, "attributes to compare")
        return cls(extremes, absences, members, patterns, singles, columns)

    @property
    def flat(self) -> tuple[Any, ...]:
        """What the kernels want of it."""
        return self.extremes, self.absences, self.members, self.patterns


@dataclass(frozen=True)
class Probes:
    """Conjunctions as events of the index: codes, and sets, as in `columnar.encoding.columns.Encoded`."""

    codes: Int32s
    set_ends: Int64s
    set_codes: Int32s

    @classmethod
    def of(cls, chosen: Int64s, facts: Facts, layout: Layout) -> Probes:
        codes = np.empty((len(chosen), layout.singles + 1), np.int32)
        corners(chosen, facts.flat, facts.sets, layout.flat, codes)
        count = layout.columns - layout.singles
        ends = np.zeros((count, len(chosen) + 1), np.int64)
        pieces, base = [_NONE32], 0
        for attribute, column in (*enumerate(layout.members), *enumerate(layout.patterns)):
            if column < 0:
                continue
            row = np.zeros(len(chosen) + 1, np.int64)
            piece = _filled(chosen, attribute, facts, row, patterns=bool(layout.patterns[attribute] == column))
            ends[column - layout.singles] = row + base
            pieces.append(piece)
            base += len(piece)
        return cls(codes, ends, np.concatenate(pieces))


class Corners:
    """Some conjunctions, in rows: row r is conjunction `rows[r]`, under one of the values that it lists, if it does."""

    def __init__(self, chosen: Int64s, facts: Facts, layout: Layout, expected: Probes, schema: Schema) -> None:
        """`expected` are some of the conjunctions that will be looked up: the plan is made for such."""
        self.facts, self.layout = facts, layout
        conjuncts, self.rows = _conjuncts(chosen, facts, layout)
        encoder = _encoder(facts, layout, schema)
        knowledge = _knowledge(expected, facts, layout)
        self._groups, entries = plan(conjuncts, encoder, knowledge)
        self._buckets: Buckets = fill(conjuncts, encoder, entries, len(self._groups))
        columns = self._groups.range_columns(layout.singles + 1)
        self._ranges = columns, np.ascontiguousarray(knowledge.edges[knowledge.edge_rows[columns]])
        self._scratch = (
            np.zeros(2 * layout.columns + 2, np.int64), np.zeros(layout.columns + 1, np.int32),
            np.empty(layout.columns + 1, np.int64), np.empty((PROBES, 3), np.int64), np.empty(PROBES, np.int64),
        )  # fmt: skip
        self._out = np.empty(len(self.rows) + _SLACK + _ROOM, np.int32)
        self._compress = has_compress()
        self.work = np.zeros(5, np.int64)

    def look_up(self, probes: Probes) -> Iterator[tuple[int, int, Int64s, Int32s]]:
        """For events first to stop: the rows `found[ends[e]:ends[e + 1]]` that each of them matches.

        What is yielded is overwritten by the next.
        """
        groups: Plan = self._groups
        buckets = self._buckets
        count, room, first = len(probes.codes), len(self.rows) + _SLACK, 0
        tests = (_NONE32, _NONE32, _NONE32, _NONE32, _NONE32, _NONE32, _NONE32, self.layout.singles)
        ends = np.zeros(count + 1, np.int64)
        while first < count:
            ends[first] = 0
            stop = match_events(
                probes.codes, (probes.set_ends, probes.set_codes), first,
                (groups.starts, groups.sources, groups.levels, groups.places, groups.sets, groups.set_places),
                self._ranges, buckets.slots, buckets.slot_starts, buckets.root, buckets.pool, tests, _NONE32,
                len(self.rows), False, _NONE32, _NONE32, 1, room, self._compress, self._scratch, _NONE32, self._out,
                ends, self.work,
            )  # fmt: skip
            yield first, stop, ends, self._out
            first = stop


def _numbered(wanted: npt.NDArray[np.bool_], first: int, step: int) -> Int32s:
    """Column numbers from `first` on for those wanted, so many each; -1 for the others."""
    return np.where(wanted, first + step * (np.cumsum(wanted) - 1), -1).astype(np.int32)


def _filled(chosen: Int64s, attribute: int, facts: Facts, ends: Int64s, patterns: bool) -> Int32s:
    room = 4 * len(chosen) + 64
    while True:
        out = np.empty(room, np.int32)
        if patterns:
            end = patterns_of(chosen, attribute, facts.flat, facts.sets, facts.patterns, ends, out)
        else:
            end = members_of(chosen, attribute, facts.flat, facts.sets, ends, out)
        if end >= 0:
            return out[:end]
        room *= 4


def _conjuncts(chosen: Int64s, facts: Facts, layout: Layout) -> tuple[Conjuncts, Int32s]:
    """The conditions of the chosen conjunctions, and the conjunction of each row."""
    fixed = (chosen, facts.flat, facts.sets, facts.places.counts, layout.flat)
    none = (_NONE32, _NONE32, _NONE32)
    count, most = conditions(*fixed, _NONE32, _NONE64, none, False)
    rows, offsets = np.empty(count, np.int32), np.zeros(count + 1, np.int64)
    out = (np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32))
    _, end = conditions(*fixed, rows, offsets, out, True)
    columns, lows, highs = (array[:end].copy() for array in out)
    conjuncts = Conjuncts(
        simple=count, owners=_NONE32, offsets=offsets.astype(np.int32), columns=columns.astype(np.uint16), lows=lows,
        highs=highs, test_offsets=np.zeros(count + 1, np.int32), tests=_NONE32, test_columns=_NONE32,
        test_flags=_NONE32, test_lows=_NONE32, test_highs=_NONE32, listed=_NONE32,
    )  # fmt: skip
    return conjuncts, rows


def _encoder(facts: Facts, layout: Layout, schema: Schema) -> Encoder:
    """What the planner asks of an encoder: how many columns there are, and how many codes each may have."""
    columns: list[Column] = [Column(Kind.VALUE, "")] * layout.columns
    for attribute in range(len(facts.names)):
        name = str(attribute)
        columns[2 * attribute] = columns[2 * attribute + 1] = Column(Kind.VALUE, name)
        if layout.absences[attribute] >= 0:
            columns[layout.absences[attribute]] = Column(Kind.VALUE, name)
        if layout.extremes[attribute] >= 0:
            columns[layout.extremes[attribute]] = columns[layout.extremes[attribute] + 1] = Column(Kind.VALUE, name)
        if layout.members[attribute] >= 0:
            columns[layout.members[attribute]] = Column(Kind.VALUES, name)
        if layout.patterns[attribute] >= 0:
            columns[layout.patterns[attribute]] = Column(Kind.PATTERNS, name)
    # Of dictionaries and patterns only the length is asked for.
    dictionaries = {str(a): cast("Dictionary", range(max(1, n))) for a, n in enumerate(facts.places.counts.tolist())}
    patterns = {str(a): cast("PatternSet", range(_patterns(facts, a))) for a in range(len(facts.names))}
    return Encoder(tuple(columns), dictionaries, patterns, schema)


def _patterns(facts: Facts, attribute: int) -> int:
    numbers = facts.numbers[(facts.kinds == PATTERN) & (facts.attributes == attribute)]
    return int(numbers.max(initial=-1)) + 1


def _knowledge(expected: Probes, facts: Facts, layout: Layout) -> Knowledge:
    """Presence, shares of codes and quantiles of what will be looked up."""
    events = max(1, len(expected.codes))
    presence, shares, edges = np.zeros(layout.columns), [], []
    attribute_of = _attributes(layout, len(facts.names))
    for column in range(layout.columns):
        places = int(facts.places.counts[attribute_of[column]])
        if column < layout.singles:
            codes = expected.codes[:, column]
            codes = codes[codes != NOTHING]
            presence[column] = len(codes) / events
            edges.append(_edges(codes))
        else:
            ends = expected.set_ends[column - layout.singles]
            codes = expected.set_codes[ends[0] : ends[-1]]
            presence[column] = np.count_nonzero(np.diff(ends)) / events
            places = max(places, int(codes.max(initial=0)) // 2 + 1)
        counted = np.bincount(codes // 2, minlength=places) + 1.0
        shares.append(counted / counted.sum())
    rows = np.where(np.arange(layout.columns) < layout.singles, np.arange(layout.columns), -1)
    return Knowledge(
        presence=np.maximum(presence, LEAST_PRESENCE),
        share_starts=np.concatenate([np.zeros(1, np.int64), np.cumsum([len(s) for s in shares])]).astype(np.int64),
        shares=np.concatenate([np.zeros(0), *shares]),
        edge_rows=rows.astype(np.int64),
        edges=np.array(edges, np.int32).reshape(layout.singles, 1 << FINEST),
    )


def _attributes(layout: Layout, count: int) -> Int64s:
    """The attribute that each column is about."""
    of = np.zeros(max(1, layout.columns), np.int64)
    for a in range(count):
        of[[2 * a, 2 * a + 1]] = a
        for column in (layout.extremes[a], layout.absences[a], layout.members[a], layout.patterns[a]):
            if column >= 0:
                of[column] = a
                if column == layout.extremes[a]:
                    of[column + 1] = a
    return of


def _edges(codes: Int32s) -> Int32s:
    edges = np.full(1 << FINEST, HIGHEST, np.int32)
    if len(codes):
        ordered = np.sort(codes)
        edges[:-1] = ordered[np.arange(1, 1 << FINEST) * len(ordered) >> FINEST]
    return edges
