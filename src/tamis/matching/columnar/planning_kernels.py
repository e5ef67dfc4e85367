"""Planner kernels: which conditions to look a conjunction up by; enumerated, chosen greedily, then dealt out.

A *dimension* of a conjunction is one of its conditions as a lookup: an equality (or a short list of them) by code, or
a range by the quantile cells it touches, at the finest level where it touches at most two. A dimension's id is
`column * 16 + 1` for codes and `column * 16 + 1 + level` for cells. A *group* is one to three dimension ids.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from tamis.compiled import kernel
from tamis.matching.codes.encoding import HIGHEST, LISTED, LOWEST

FINEST = 10  # 2^10 quantile cells a column
DIMENSION_BITS = 20
MOST_DIMENSIONS = 6  # of one conjunction: 41 groups at most
MOST_WAYS = 41
MOST_CELLS = 2  # a range touches at its level
MOST_COPIES = 4  # of one conjunction in a group of ranges and single equalities
MOST_LISTED_COPIES = 64  # where lists are among the dimensions
MOST_COPIES_OF_A_LIST = 1024  # where one list is the only dimension
WEAKEST = 0.8  # a range that more events satisfy is not worth a lookup
NARROW_BITS = 21  # what each of three codes may take of a 63-bit key
MOST_INTERVALS = 31  # of a conjunction that may be dimensions: bits of a mask


@kernel
def mix(key: int) -> Any:
    """Hash of a 63-bit key."""
    x = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(32)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    return x ^ (x >> np.uint64(29))


@kernel
def cell(edges: Any, row: int, code: int) -> int:
    """The finest quantile cell of a code: how many of the column's edges are not above it."""
    low, high = 0, (1 << FINEST) - 1
    while low < high:
        middle = (low + high) >> 1
        if edges[row, middle] <= code:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def share(column: int, code: int, share_starts: Any, shares: Any) -> float:
    """Chance that an event with the column has this code."""
    start, end = share_starts[column], share_starts[column + 1]
    if code & 1 == 0 or code < 0 or start + (code >> 1) >= end:
        return 1.0 / (end - start + 1)
    return shares[start + (code >> 1)]


@kernel
def keep_dimension(
    found: Any, chances: Any, count: int, id: int, first: int, cells: int, interval: int, chance: float
) -> int:
    """Enters a dimension among the most selective ones; returns how many there are."""
    if count == MOST_DIMENSIONS:
        if chance >= chances[count - 1]:
            return count
        count -= 1
    at = count
    while at > 0 and chances[at - 1] > chance:
        for field in range(4):
            found[at, field] = found[at - 1, field]
        chances[at] = chances[at - 1]
        at -= 1
    found[at, 0], found[at, 1], found[at, 2], found[at, 3] = id, first, cells, interval
    chances[at] = chance
    return count + 1


@kernel
def dimensions(conjunct: int, conjuncts: Any, knowledge: Any, found: Any, chances: Any) -> int:
    """Finds the most selective dimensions: id, first cell (or list), cells, interval (-1 - test for a list)."""
    offsets, columns, lows, highs, test_offsets, tests, test_columns, test_flags, test_lows, test_highs, listed = (
        conjuncts
    )
    edge_rows, edges, share_starts, shares, _, singles = knowledge
    count = 0
    # Intervals: an equality is a dimension by code; a range one by cell, at the finest level where it touches at most
    # MOST_CELLS of them, for each cell touched costs a copy of the entry.
    for i in range(offsets[conjunct], min(offsets[conjunct + 1], offsets[conjunct] + MOST_INTERVALS)):
        column = np.int64(columns[i])
        here = i - offsets[conjunct]
        if lows[i] == highs[i]:
            chance = share(column, lows[i], share_starts, shares)
            count = keep_dimension(found, chances, count, column * 16 + 1, lows[i], 1, here, chance)
        elif edge_rows[column] >= 0:
            first = 0 if lows[i] == LOWEST else cell(edges, edge_rows[column], lows[i])
            last = (1 << FINEST) - 1 if highs[i] == HIGHEST else cell(edges, edge_rows[column], highs[i])
            level = FINEST
            while level > 0 and (last >> (FINEST - level)) - (first >> (FINEST - level)) >= MOST_CELLS:
                level -= 1
            first >>= FINEST - level
            cells = (last >> (FINEST - level)) - first + 1
            chance = cells / (1 << level)
            # A range that most events fall into is no use as a key.
            if level > 0 and chance <= WEAKEST:
                count = keep_dimension(found, chances, count, column * 16 + 1 + level, first, cells, here, chance)
    # Short lists (`IN`) are dimensions too: one copy of the entry for each value.
    for i in range(test_offsets[conjunct], test_offsets[conjunct + 1]):
        test = tests[i]
        column = np.int64(test_columns[test])
        cells = test_highs[test] - test_lows[test]
        if test_flags[test] == LISTED and column < singles and cells <= MOST_COPIES_OF_A_LIST:
            chance = 0.0
            for j in range(test_lows[test], test_highs[test]):
                chance += share(column, listed[j], share_starts, shares)
            if chance <= WEAKEST:
                count = keep_dimension(
                    found, chances, count, column * 16 + 1, test_lows[test], cells, -1 - test, chance
                )
    return count


@kernel
def may_join(found: Any, a: int, b: int, singles: int) -> bool:
    """True if two dimensions may be in one group: different columns, and at most one of them a set."""
    x, y = found[a, 0] >> 4, found[b, 0] >> 4
    return x != y and (x < singles or y < singles)


@kernel
def ways(
    count: int, found: Any, chances: Any, presence: Any, narrow: Any, singles: int, keys: Any, odds: Any, members: Any
) -> int:
    """Enumerates groups of one to three of the dimensions: key, chance that an event reaches it, and its dimensions."""
    n = 0
    for x in range(count):
        # An event reaches the group only if all its columns are present and in the cells: chances multiply, as if
        # columns were independent.
        one = chances[x] * presence[found[x, 0] >> 4]
        keys[n], odds[n] = found[x, 0], one
        members[n, 0], members[n, 1], members[n, 2] = x, -1, -1
        n += 1
        for y in range(x + 1, count):
            # The entry is copied once for each combination of cells: too many copies cost more than the group saves.
            some_list = found[x, 3] < 0 or found[y, 3] < 0
            most = MOST_LISTED_COPIES if some_list else MOST_COPIES
            if found[x, 2] * found[y, 2] > most or not may_join(found, x, y, singles):
                continue
            two = one * chances[y] * presence[found[y, 0] >> 4]
            low, high = min(found[x, 0], found[y, 0]), max(found[x, 0], found[y, 0])
            keys[n], odds[n] = low | (high << DIMENSION_BITS), two
            members[n, 0], members[n, 1], members[n, 2] = x, y, -1
            n += 1
            for z in range(y + 1, count):
                most_of_three = MOST_LISTED_COPIES if some_list or found[z, 3] < 0 else MOST_COPIES
                if found[x, 2] * found[y, 2] * found[z, 2] > most_of_three:
                    continue
                if not (may_join(found, x, z, singles) and may_join(found, y, z, singles)):
                    continue
                # Codes of three columns share one 63-bit key, so each must be narrow; cells always are.
                wide = False
                for member in (x, y, z):
                    wide |= found[member, 0] & 15 == 1 and not narrow[found[member, 0] >> 4]
                if wide:
                    continue
                id = found[z, 0]
                # The key is the sorted dimension ids, so that conjunctions with the same dimensions meet in one group.
                a, b, c = min(low, id), max(low, min(high, id)), max(high, id)
                keys[n] = a | (b << DIMENSION_BITS) | (c << (2 * DIMENSION_BITS))
                odds[n] = two * chances[z] * presence[id >> 4]
                members[n, 0], members[n, 1], members[n, 2] = x, y, z
                n += 1
    return n


@kernel
def sample_ways(sample: Any, conjuncts: Any, knowledge: Any, narrow: Any, keys: Any, odds: Any, places: Any) -> int:
    """Writes the ways of sampled conjunctions, one after another; returns how many."""
    found, chances = np.empty((MOST_DIMENSIONS + 1, 4), np.int64), np.empty(MOST_DIMENSIONS + 1)
    way_keys, way_odds = np.empty(MOST_WAYS, np.int64), np.empty(MOST_WAYS)
    members = np.empty((MOST_WAYS, 3), np.int64)
    presence, singles = knowledge[4], knowledge[5]
    n = 0
    for place in range(len(sample)):
        count = dimensions(sample[place], conjuncts, knowledge, found, chances)
        for i in range(ways(count, found, chances, presence, narrow, singles, way_keys, way_odds, members)):
            keys[n], odds[n], places[n] = way_keys[i], way_odds[i], place
            n += 1
    return n


@kernel
def gain(
    group: int,
    starts: Any,
    places: Any,
    odds: Any,
    current: Any,
    scale: float,
    verify: float,
    hit: float,
    costs: Any,
    presence: Any,
) -> float:
    """Nanoseconds per event that a group saves: verifications avoided, less its probes and the buckets it hits."""
    saved = reached = 0.0
    better = 0
    for i in range(starts[group], starts[group + 1]):
        difference = current[places[i]] - odds[i]
        if difference > 0:
            saved += difference
            reached += odds[i]
            better += 1
    if better < 3 and scale > 1.5:  # one or two of a sample say nothing
        return -1.0
    full = presence[group] * (1 - np.exp(-reached * scale / presence[group]))
    return saved * scale * verify - costs[group] - hit * full


@kernel
def choose(
    starts: Any,
    places: Any,
    odds: Any,
    sampled: int,
    scale: float,
    verify: float,
    hit: float,
    costs: Any,
    presence: Any,
) -> Any:
    """Chooses groups by lazy greedy: a gain only falls as others are taken, so the heap's top is computed anew."""
    # `current[i]`: chance that an event reaches sampled conjunct i as things stand; 1 as long as only the root has it.
    current = np.ones(sampled)
    # A heap of (-gain, candidate); the pair that comes and goes tells Numba its type.
    heap: Any = [(0.0, np.int64(-1))]
    heap.pop()
    for candidate in range(len(starts) - 1):
        worth = gain(candidate, starts, places, odds, current, scale, verify, hit, costs, presence)
        if worth > 0:
            heap.append((-worth, np.int64(candidate)))
    heapq.heapify(heap)
    chosen = np.empty(len(starts) - 1, np.int64)
    count = 0
    while len(heap) > 0:
        # Its gain may have fallen since it was pushed: if it is not the best any more, it goes back.
        group = np.int64(heapq.heappop(heap)[1])
        worth = gain(group, starts, places, odds, current, scale, verify, hit, costs, presence)
        if worth <= 0:
            continue
        if len(heap) > 0 and worth < -heap[0][0]:
            heapq.heappush(heap, (-worth, group))
            continue
        # Taken: the conjuncts that it suits better move to it, which lowers the gain of the groups they would have
        # used.
        for i in range(starts[group], starts[group + 1]):
            current[places[i]] = min(current[places[i]], odds[i])
        chosen[count] = group
        count += 1
    return chosen[:count]


@kernel
def find_group(table_keys: Any, table_groups: Any, key: int) -> int:
    """Number of a chosen group, or -1."""
    mask = len(table_keys) - 1
    slot = np.int64(mix(key) & np.uint64(mask))
    while table_keys[slot] >= 0:
        if table_keys[slot] == key:
            return table_groups[slot]
        slot = (slot + 1) & mask
    return -1


@kernel
def deal(
    conjuncts: Any, knowledge: Any, narrow: Any, table_keys: Any, table_groups: Any, root: int,
    groups: Any, keys: Any, members_of: Any, masks: Any, ends: Any, write: bool,
) -> int:  # fmt: skip
    """Gives each conjunction its cheapest chosen group, and an entry for every cell it touches there.

    `masks`: bit i, interval i is implied by the key; bit 32 + i, the key says something of interval i. Counts only,
    unless `write`. `ends[c]`: one past the last entry of conjunction c.
    """
    found, chances = np.empty((MOST_DIMENSIONS + 1, 4), np.int64), np.empty(MOST_DIMENSIONS + 1)
    way_keys, way_odds = np.empty(MOST_WAYS, np.int64), np.empty(MOST_WAYS)
    members, chosen = np.empty((MOST_WAYS, 3), np.int64), np.empty(3, np.int64)
    presence, singles, listed = knowledge[4], knowledge[5], conjuncts[10]
    n = 0
    for conjunct in range(len(conjuncts[0]) - 1):
        count = dimensions(conjunct, conjuncts, knowledge, found, chances)
        total = ways(count, found, chances, presence, narrow, singles, way_keys, way_odds, members)
        # Of the conjunction's possible groups that were chosen, the one that fewest events reach.
        best, way, group = 1.0, -1, root
        for i in range(total):
            if way_odds[i] < best:
                known = find_group(table_keys, table_groups, way_keys[i])
                if known >= 0:
                    best, way, group = way_odds[i], i, known
        # None was chosen: one entry at the root, with nothing verified by a key.
        if way < 0:
            if write:
                groups[n], keys[n], members_of[n], masks[n] = root, 0, conjunct, 0
                ends[conjunct + 1] = n + 1
            n += 1
            continue
        # Its dimensions in ascending order of id, as the group's key has them, and the intervals that the key implies
        # (by code) or narrows (by cell).
        size, copies, mask = 0, 1, np.int64(0)
        for i in range(3):
            if members[way, i] >= 0:
                at = size
                while at > 0 and found[chosen[at - 1], 0] > found[members[way, i], 0]:
                    chosen[at] = chosen[at - 1]
                    at -= 1
                chosen[at] = members[way, i]
                size += 1
                copies *= found[members[way, i], 2]
                interval = found[members[way, i], 3]
                if interval >= 0:
                    by_code = found[members[way, i], 0] & 15 == 1
                    mask |= np.int64(1) << (interval + (0 if by_code else 32))
        if write:
            # One entry for each combination of cells or listed values: `copy` counts through them like digits.
            bits = 0 if size == 1 else (31 if size == 2 else NARROW_BITS)
            for copy in range(copies):
                rest, key = copy, np.int64(0)
                for i in range(size):
                    step = rest % found[chosen[i], 2]
                    rest //= found[chosen[i], 2]
                    first = found[chosen[i], 1]
                    code = np.int64(listed[first + step]) if found[chosen[i], 3] < 0 else first + step
                    key = (key << bits) | code
                groups[n + copy], keys[n + copy] = group, key
                members_of[n + copy], masks[n + copy] = conjunct, mask
            ends[conjunct + 1] = n + copies
        n += copies
    return n
