"""Index of corners: finds the conjunctions that may cover a given one, by looking up its least and greatest values.

A range covers another one iff it holds its least and its greatest value. So a conjunction is indexed by what it asks of
the least value that a covered one allows, and of the greatest, as two columns; and the covered one is an event that has
these two corners for values. The columnar engine finds whatever matches. For conjunctions of ranges on single-valued
attributes that is the answer; what it leaves out (holes in sets, exclusions, further members and patterns) is verified
on the facts afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from tamis.arrays import Arrays, Int32s, Int64s
from tamis.matching.codes.columns import Column, Encoder, Kind
from tamis.matching.codes.dictionary import Dictionary
from tamis.matching.codes.encoding import ABSENT as NOTHING
from tamis.matching.codes.encoding import HIGHEST, Conjuncts
from tamis.matching.codes.files import read_arrays, write_arrays
from tamis.matching.codes.intrinsics import has_compress
from tamis.matching.codes.level import SLACK, part_of, under
from tamis.matching.columnar.level import Buckets, fill
from tamis.matching.columnar.plan import LEAST_PRESENCE, Knowledge, Plan, plan
from tamis.matching.columnar.planning_kernels import FINEST
from tamis.matching.columnar.probing_kernels import PROBES, match_events
from tamis.matching.patterns import PatternSet
from tamis.routing.covering.search.ground import Ground
from tamis.routing.covering.search.kernels import conditions, corners, members_of, patterns_of
from tamis.schema import Schema

# Probes: conjunctions encoded as events of the index of corners.


_NONE32 = np.zeros(0, np.int32)


@dataclass(frozen=True)
class Probes:
    """Conjunctions as events of the index: codes, and sets, as in `matching.codes.columns.Encoded`."""

    codes: Int32s
    set_ends: Int64s
    set_codes: Int32s

    @classmethod
    def of(cls, chosen: Int64s, ground: Ground) -> Probes:
        codes = np.empty((len(chosen), ground.singles + 1), np.int32)
        corners(chosen, ground.facts, ground.sets, ground.layout, codes)
        count = ground.columns - ground.singles
        ends = np.zeros((count, len(chosen) + 1), np.int64)
        pieces, base = [_NONE32], 0
        _, _, members, patterns = ground.layout
        for attribute, column in (*enumerate(members), *enumerate(patterns)):
            if column < 0:
                continue
            row = np.zeros(len(chosen) + 1, np.int64)
            piece = _filled(chosen, attribute, ground, row, of_patterns=bool(patterns[attribute] == column))
            ends[column - ground.singles] = row + base
            pieces.append(piece)
            base += len(piece)
        return cls(codes, ends, np.concatenate(pieces))


def _filled(chosen: Int64s, attribute: int, ground: Ground, ends: Int64s, of_patterns: bool) -> Int32s:
    room = 4 * len(chosen) + 64
    while True:
        out = np.empty(room, np.int32)
        if of_patterns:
            end = patterns_of(chosen, attribute, ground.facts, ground.sets, ground.patterns, ends, out)
        else:
            end = members_of(chosen, attribute, ground.facts, ground.sets, ends, out)
        if end >= 0:
            return out[:end]
        room *= 4


_ROOM = 1 << 19  # matches that are looked at together, or those of one event if they are more
_NONE64 = np.zeros(0, np.int64)


class Corners:
    """Index of some conjunctions, in rows: row r is conjunction `rows[r]`, under one of its listed values, if it lists
    any.

    Frozen, but for scratch memory: one thread at a time.
    """

    def __init__(self, arrays: Arrays, ground: Ground) -> None:
        self.arrays, self.rows = arrays, arrays["rows"]
        self._singles = ground.singles
        self._groups = Plan(**part_of("groups.", arrays))
        laid: dict[str, Any] = part_of("buckets.", arrays)
        self._buckets = Buckets(**laid | {"root": int(laid["root"][0])})
        self._ranges = arrays["ranges.columns"], arrays["ranges.edges"]
        self._scratch = (
            np.zeros(2 * ground.columns + 2, np.int64), np.zeros(ground.columns + 1, np.int32),
            np.empty(ground.columns + 1, np.int64), np.empty((PROBES, 3), np.int64), np.empty(PROBES, np.int64),
        )  # fmt: skip
        self._out = np.empty(len(self.rows) + SLACK + _ROOM, np.int32)
        self._compress = has_compress()
        self._work = np.zeros(5, np.int64)

    @classmethod
    def build(cls, chosen: Int64s, ground: Ground, expected: Probes, schema: Schema) -> Corners:
        """Index of these conjunctions; `expected` are some of those that will be looked up, to plan for."""
        conjuncts, rows = _conjuncts(chosen, ground)
        encoder = _encoder(ground, schema)
        knowledge = _knowledge(expected, ground)
        groups, entries = plan(conjuncts, encoder, knowledge)
        buckets = fill(conjuncts, encoder, entries, len(groups))
        columns = groups.range_columns(ground.singles + 1)
        laid: Arrays = {**vars(buckets), "root": np.array([buckets.root], np.int64)}
        arrays: Arrays = {"rows": rows, "ranges.columns": columns}
        arrays["ranges.edges"] = np.ascontiguousarray(knowledge.edges[knowledge.edge_rows[columns]])
        return cls(arrays | under("groups.", dict(vars(groups))) | under("buckets.", laid), ground)

    def save(self, path: Path) -> None:
        write_arrays(path, self.arrays, {})

    @classmethod
    def open(cls, path: Path, ground: Ground) -> Corners:
        return cls(read_arrays(path, verify=False)[0], ground)

    def look_up(self, probes: Probes) -> Iterator[tuple[int, int, Int64s, Int32s]]:
        """Lookups for events first to stop: the rows `found[ends[e]:ends[e + 1]]` that each of them matches.

        What is yielded is overwritten by the next.
        """
        groups, buckets = self._groups, self._buckets
        count, room, first = len(probes.codes), len(self.rows) + SLACK, 0
        tests = (_NONE32, _NONE32, _NONE32, _NONE32, _NONE32, _NONE32, _NONE32, self._singles)
        ends = np.zeros(count + 1, np.int64)
        while first < count:
            ends[first] = 0
            stop = match_events(
                probes.codes, (probes.set_ends, probes.set_codes), first,
                (groups.starts, groups.sources, groups.levels, groups.places, groups.sets, groups.set_places),
                self._ranges, buckets.slots, buckets.slot_starts, buckets.root, buckets.pool, tests, _NONE32,
                len(self.rows), False, _NONE32, _NONE32, 1, room, self._compress, self._scratch, _NONE32, self._out,
                ends, self._work,
            )  # fmt: skip
            yield first, stop, ends, self._out
            first = stop


def _conjuncts(chosen: Int64s, ground: Ground) -> tuple[Conjuncts, Int32s]:
    """Conditions of the chosen conjunctions, and the conjunction of each row."""
    fixed = (chosen, ground.facts, ground.sets, ground.places, ground.layout)
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


def _about(ground: Ground) -> tuple[list[int], list[Kind]]:
    """Attribute and kind of each column."""
    attributes, kinds = [0] * ground.columns, [Kind.VALUE] * ground.columns
    extremes, absences, members, patterns = ground.layout
    for a in range(len(extremes)):
        here = [(2 * a, Kind.VALUE), (2 * a + 1, Kind.VALUE), (absences[a], Kind.VALUE), (members[a], Kind.VALUES)]
        here += [(extremes[a], Kind.VALUE), (patterns[a], Kind.PATTERNS)]
        here += [(extremes[a] + 1, Kind.VALUE)] if extremes[a] >= 0 else []
        for column, kind in here:
            if column >= 0:
                attributes[column], kinds[column] = a, kind
    return attributes, kinds


def _encoder(ground: Ground, schema: Schema) -> Encoder:
    """Encoder as the planner asks for it: the number of columns, and how many codes each may have."""
    columns = [Column(kind, str(attribute)) for attribute, kind in zip(*_about(ground), strict=True)]
    most = int(ground.patterns[1][2].max(initial=-1)) + 1
    # Of dictionaries and patterns only the length is asked for.
    dictionaries = {str(a): cast("Dictionary", range(max(1, n))) for a, n in enumerate(ground.places.tolist())}
    patterns = {str(a): cast("PatternSet", range(most)) for a in range(len(ground.places))}
    return Encoder(tuple(columns), dictionaries, patterns, schema)


def _knowledge(expected: Probes, ground: Ground) -> Knowledge:
    """Statistics for the planner: presence, shares of codes and quantiles of expected lookups."""
    events, singles = max(1, len(expected.codes)), ground.singles
    presence, shares, edges = np.zeros(ground.columns), [], []
    attributes, _ = _about(ground)
    for column, attribute in enumerate(attributes):
        if column < singles:
            codes = expected.codes[:, column]
            codes = codes[codes != NOTHING]
            presence[column] = len(codes) / events
            edges.append(_edges(codes))
        else:
            ends = expected.set_ends[column - singles]
            codes = expected.set_codes[ends[0] : ends[-1]]
            presence[column] = np.count_nonzero(np.diff(ends)) / events
        counted = np.bincount(codes // 2, minlength=max(1, int(ground.places[attribute]))) + 1.0
        shares.append(counted / counted.sum())
    return Knowledge(
        presence=np.maximum(presence, LEAST_PRESENCE),
        share_starts=np.concatenate([np.zeros(1, np.int64), np.cumsum([len(s) for s in shares])]).astype(np.int64),
        shares=np.concatenate([np.zeros(0), *shares]),
        edge_rows=np.where(np.arange(ground.columns) < singles, np.arange(ground.columns), -1).astype(np.int64),
        edges=np.array(edges, np.int32).reshape(singles, 1 << FINEST),
    )


def _edges(codes: Int32s) -> Int32s:
    edges = np.full(1 << FINEST, HIGHEST, np.int32)
    if len(codes):
        ordered = np.sort(codes)
        edges[:-1] = ordered[np.arange(1, 1 << FINEST) * len(ordered) >> FINEST]
    return edges
