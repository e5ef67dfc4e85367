"""Cost model of the columnar index: the nanoseconds that each subscription adds to the time of an event.

For each place (entry) that a conjunction has in the index's buckets:

    chance that an event reaches the bucket × (a share of fetching the bucket + chance that it is looked at × verifying)

and for the conjunction

    chance that its intervals hold × its tests × deciding one  +  chance that all holds × writing a match
    + the patterns that are run by themselves on every value

Chances are those of the statistics, or what the subscriptions themselves let expect, and are taken for independent of
each other. What all subscriptions share (encoding an event, probing the groups) is nobody's own, and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, Int64s
from tamis.compiled import bare_kernel
from tamis.language.predicates import RLike
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.columns import Kind
from tamis.matching.codes.encoding import HIGHEST, LISTED, LOWEST, NEGATED
from tamis.matching.codes.level import part_of
from tamis.matching.columnar.bucket_kernels import (
    BOTH,
    COLUMN_BITS,
    END_SHIFT,
    EXACTLY,
    FORM_SHIFT,
    MIXED,
    RESIDUALS,
    SEGMENT_BITS,
    SEMI,
    UP_TO,
)
from tamis.matching.columnar.level import ColumnarLevel
from tamis.matching.columnar.plan import LARGE, SMALL, SMALL_LEVEL, flat, learn
from tamis.matching.columnar.planning_kernels import FINEST, share
from tamis.matching.patterns.regex_search import like_program_of, required_literals
from tamis.schema import Schema

# Kernels over a level's buckets: how likely an event reaches each, and looks at each entry.

LEAST = 1.0 / (1 << (FINEST + 2))  # of a range that quantiles do not see
WIDEST = 63  # bits of a key


@bare_kernel
def edges_below(edges: Any, row: int, code: int) -> int:
    """Number of a column's quantile edges below a code."""
    low, high = 0, (1 << FINEST) - 1
    while low < high:
        middle = (low + high) >> 1
        if edges[row, middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@bare_kernel
def chance(column: int, low: int, high: int, knowledge: Any) -> float:
    """Probability that an event with the column has a code from low to high."""
    edge_rows, edges, share_starts, shares, _, _ = knowledge
    if low == high:
        return share(column, low, share_starts, shares)
    if low == LOWEST and high == HIGHEST:
        return 1.0
    row = edge_rows[column]
    if row < 0:
        return 0.5
    before = 0 if low == LOWEST else edges_below(edges, row, low)
    upto = 1 << FINEST if high == HIGHEST else edges_below(edges, row, high + 1)
    return max(LEAST, (upto - before) / (1 << FINEST))


@bare_kernel
def reach(group: int, key: int, plan: Any, ranges: Any, knowledge: Any, cells: Any) -> float:
    """Probability that an event has a group's key.

    `cells`, written here: the columns that the key is about (-1 for none), and from which code to which it puts each.
    """
    sources, levels, places, group_sets, set_places = plan
    range_columns, built = ranges
    presence, singles = knowledge[4], knowledge[5]
    size = 1 if group_sets[group] >= 0 else 0
    for i in range(3):
        size += sources[group, i] != singles
    bits = WIDEST if size == 1 else (31 if size == 2 else 21)
    mask = (np.int64(1) << bits) - 1
    # Each source puts its column into a cell: one code, or a range of codes at the source's level. Columns are
    # taken as independent, so the odds multiply.
    odds = 1.0
    for i in range(3):
        cells[i, 0] = -1
        source = sources[group, i]
        if source == singles:
            continue
        code = (key >> places[group, i]) & mask
        if source < singles:
            cells[i, 0], cells[i, 1], cells[i, 2] = source, code, code
            odds *= presence[source] * chance(source, code, code, knowledge)
            continue
        column, shift = source - singles - 1, levels[group, i]
        row = 0
        while range_columns[row] != column:
            row += 1
        first, last = (code << shift) - 1, ((code + 1) << shift) - 1
        low = LOWEST if first < 0 else built[row, first]
        high = HIGHEST if last >= (1 << FINEST) - 1 else built[row, last] - 1
        cells[i, 0], cells[i, 1], cells[i, 2] = column, low, high
        odds *= presence[column] * (chance(column, low, high, knowledge) if low <= high else LEAST)
    if group_sets[group] >= 0:
        code = (key >> set_places[group]) & mask
        odds *= presence[group_sets[group]] * chance(group_sets[group], code, code, knowledge)
    return odds


@bare_kernel
def cell_of(column: int, cells: Any) -> int:
    """Index of the part of the key that is about a column, or -1."""
    for i in range(3):
        if cells[i, 0] == column:
            return i
    return -1


@bare_kernel
def left_over(column: int, low: int, high: int, knowledge: Any, cells: Any) -> float:
    """Probability that a code is from low to high, given that the key has put it into its cell."""
    i = cell_of(column, cells)
    if i < 0:
        return knowledge[4][column] * chance(column, low, high, knowledge)
    inner_low, inner_high = max(low, cells[i, 1]), min(high, cells[i, 2])
    if inner_low > inner_high:
        return 0.0
    whole = chance(column, cells[i, 1], cells[i, 2], knowledge)
    return min(1.0, chance(column, inner_low, inner_high, knowledge) / max(whole, LEAST))


@bare_kernel
def looked_at(pool: Any, at: int, i: int, n: int, count: int, knowledge: Any, cells: Any) -> float:
    """Probability that the search of a shape segment's first bound looks at entry i, given that its bucket is
    reached."""
    odds = 1.0
    for r in range(1, count):
        column = pool[at + r] & COLUMN_BITS
        if cell_of(column, cells) < 0:
            odds *= knowledge[4][column]
    if count > 0:
        column, kind = pool[at] & COLUMN_BITS, pool[at] >> END_SHIFT
        bound = pool[at + count + n + i]
        low = LOWEST if kind == UP_TO else bound
        high = bound if kind in (UP_TO, EXACTLY) else HIGHEST
        odds *= left_over(column, low, high, knowledge, cells)
    return odds


@bare_kernel
def bucket(value: int, odds: float, pool: Any, knowledge: Any, cells: Any, out: Any) -> None:
    """Adds the cost of a bucket, reached with these odds, to each conjunction in it.

    `out`: expected candidates, share of the buckets reached, entries, words.
    """
    candidates, reached, entries, words = out
    segments = value & ((1 << SEGMENT_BITS) - 1)
    # First pass: the number of entries in all segments, which share the cost of reaching the bucket.
    at, total = value >> SEGMENT_BITS, np.int64(0)
    for _ in range(segments):
        n, word = np.int64(pool[at]), np.int64(pool[at + 1])
        total += n
        at = end_of_segment(pool, at, n, word)
    # Second pass: each entry's chance to be looked at, by the form of its segment, and its share of the bytes.
    at = value >> SEGMENT_BITS
    for _ in range(segments):
        n, word = np.int64(pool[at]), np.int64(pool[at + 1])
        form, count = (word >> FORM_SHIFT) & 3, word & RESIDUALS
        after = end_of_segment(pool, at, n, word)
        size = (after - at) / n
        ids = at + 2 + count if form != MIXED and form != SEMI else after - n
        for i in range(n):
            c = pool[ids + i]
            if c < 0:
                continue
            looked = 1.0
            if form == SEMI:
                looked = knowledge[4][pool[at + 2]] if cell_of(pool[at + 2], cells) < 0 else 1.0
            elif form != MIXED:
                looked = looked_at(pool, at + 2, i, n, count, knowledge, cells)
            candidates[c] += odds * looked
            reached[c] += odds / total
            entries[c] += 1
            words[c] += size
        at = after


@bare_kernel
def end_of_segment(pool: Any, at: int, n: int, word: int) -> int:
    """Position of the next segment's beginning (matching/columnar/bucket_kernels.py describes segments)."""
    form, count = (word >> FORM_SHIFT) & 3, word & RESIDUALS
    if form == MIXED:
        return at + 2 + n * (3 * count + 1)
    if form == SEMI:
        return at + 3 + n * (3 * count + 3)
    bounds = 0
    for r in range(count):
        bounds += 2 if pool[at + 2 + r] >> END_SHIFT == BOTH else 1
    return at + 2 + count + n * (1 + bounds)


@bare_kernel
def all_buckets(
    slots: Any, slot_starts: Any, root: int, pool: Any, plan: Any, ranges: Any, knowledge: Any, cells: Any, out: Any
) -> float:
    """Adds the costs of every bucket of a level; returns the expected number an event reaches, the root aside."""
    total = 0.0
    for i in range(3):
        cells[i, 0] = -1
    if root >= 0:
        bucket(root, 1.0, pool, knowledge, cells, out)
    for group in range(len(plan[3])):
        for slot in range(slot_starts[group], slot_starts[group + 1]):
            if slots[2 * slot] != -1:
                odds = reach(group, slots[2 * slot], plan, ranges, knowledge, cells)
                total += odds
                bucket(slots[2 * slot + 1], odds, pool, knowledge, cells, out)
    return total


@bare_kernel
def odds_of_conditions(conjuncts: Any, knowledge: Any, odds: Any, matches: Any) -> None:
    """Probability of each conjunction that its intervals hold, and that all its conditions do."""
    offsets, columns, lows, highs, test_offsets, tests, test_columns, test_flags, test_lows, test_highs, listed = (
        conjuncts
    )
    presence, singles = knowledge[4], knowledge[5]
    for c in range(len(offsets) - 1):
        held = 1.0
        for i in range(offsets[c], offsets[c + 1]):
            column = np.int64(columns[i])
            held *= presence[column] * chance(column, lows[i], highs[i], knowledge)
        odds[c] = held
        for i in range(test_offsets[c], test_offsets[c + 1]):
            test = tests[i]
            column, flags = np.int64(test_columns[test]), test_flags[test]
            if column >= singles and flags & NEGATED == 0:
                continue  # the code that the conjunction is found by is this condition
            if flags & LISTED:
                held_here = 0.0
                for j in range(test_lows[test], test_highs[test]):
                    held_here += share(column, listed[j], knowledge[2], knowledge[3])
                held_here = min(1.0, held_here)
            elif test_lows[test] == LOWEST and test_highs[test] == HIGHEST:
                held_here = presence[column]
            else:
                held_here = chance(column, test_lows[test], test_highs[test], knowledge)
            held *= 1.0 - held_here if flags & NEGATED else held_here
        matches[c] = held


# Nanoseconds, measured on one machine and rounded: only their ratios matter. The others are the planner's own.
TEST, WRITE, EXPRESSION = 8.0, 1.7, 250.0
BYTES = 4  # of a word of the pool


@dataclass(frozen=True)
class Cost:
    """Costs by subscription number: conjunctions, entries in buckets and their bytes; and expected for an event:
    candidates (entries looked at), matches, nanoseconds. `buckets`: the expected number an event reaches in all."""

    conjuncts: Int64s
    entries: Int64s
    bytes: Int64s
    candidates: Floats
    matches: Floats
    nanoseconds: Floats
    buckets: float


def cost_of(level: ColumnarLevel, schema: Schema, statistics: Statistics | None = None) -> Cost:
    """Cost of a level's subscriptions under a stream with these statistics."""
    conjuncts, encoder = level.conjuncts, level.encoder
    knowledge = learn(conjuncts, encoder, schema, statistics).flat(encoder.singles)
    arrays = level.own_arrays()
    plan, buckets = part_of("groups.", arrays), part_of("buckets.", arrays)
    groups = (plan["sources"], plan["levels"], plan["places"], plan["sets"], plan["set_places"])
    count = len(conjuncts)
    candidates, reached, entries, words = (np.zeros(count) for _ in range(4))
    total = all_buckets(
        buckets["slots"], buckets["slot_starts"], int(buckets["root"][0]), buckets["pool"], groups,
        (arrays["ranges.columns"], arrays["ranges.edges"]), knowledge, np.empty((3, 3), np.int64),
        (candidates, reached, entries, words),
    )  # fmt: skip
    odds, matches = np.empty(count), np.empty(count)
    odds_of_conditions(flat(conjuncts), knowledge, odds, matches)
    costs = SMALL if count <= SMALL_LEVEL else LARGE
    tests = np.diff(conjuncts.test_offsets)
    time = reached * costs.hit + candidates * costs.verify + odds * tests * TEST + matches * WRITE
    time += _expressions(level, knowledge[4])
    owners = np.concatenate([np.arange(conjuncts.simple), conjuncts.owners]).astype(np.int64)

    def summed(values: npt.NDArray[Any]) -> Floats:
        return np.bincount(owners, weights=values, minlength=len(level.names)).astype(np.float64)

    return Cost(
        conjuncts=np.bincount(owners, minlength=len(level.names)),
        entries=summed(entries).astype(np.int64),
        bytes=np.rint(summed(words) * BYTES).astype(np.int64),
        candidates=summed(candidates),
        matches=np.minimum(1.0, summed(matches)),
        nanoseconds=summed(time),
        buckets=total,
    )


def _expressions(level: ColumnarLevel, presence: Floats) -> Floats:
    """Cost of each conjunction's regular expressions: those that no literal gates run on every value.

    Several subscriptions with one expression share it.
    """
    conjuncts, encoder = level.conjuncts, level.encoder
    time = np.zeros(len(conjuncts))
    of_test = np.zeros(len(conjuncts.test_columns))
    for number, column in enumerate(encoder.columns):
        if column.kind is not Kind.PATTERNS:
            continue
        for test in np.flatnonzero(conjuncts.test_columns == number).tolist():
            pattern = encoder.patterns[column.attribute].pattern(int(conjuncts.test_lows[test]) >> 1)
            if isinstance(pattern, RLike) and is_ungated(str(pattern.pattern)):
                of_test[test] = EXPRESSION * presence[number]
    if not of_test.any():
        return time
    users = np.bincount(conjuncts.tests, minlength=len(of_test))
    owners = np.repeat(np.arange(len(conjuncts)), np.diff(conjuncts.test_offsets))
    np.add.at(time, owners, (of_test / np.maximum(1, users))[conjuncts.tests])
    return time


def is_ungated(expression: str) -> bool:
    """True if a regular expression is run on every value, because no literal must occur in its matches."""
    return like_program_of(expression) is None and not required_literals(expression).literals
