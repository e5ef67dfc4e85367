"""Matching kernels of the columnar index: probe the groups' tables, verify the buckets found, write the matches."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel
from tamis.matching.base.matcher import BUCKETS, CANDIDATES, PREDICATES
from tamis.matching.base.matcher import PROBES as PROBED
from tamis.matching.codes.encoding import ABSENT, LISTED, NEGATED
from tamis.matching.codes.intrinsics import (
    LANES,
    compress16,
    gathered_within16,
    not_above16,
    not_below16,
    prefetch,
    trailing_zeros,
)  # fmt: skip
from tamis.matching.columnar.bucket_kernels import (
    BOTH,
    COLUMN_BITS,
    END_SHIFT,
    EXACTLY,
    FORM_SHIFT,
    FROM,
    MIXED,
    RESIDUALS,
    SEGMENT_BITS,
    SEMI,
    SPECIAL,
    UP_TO,
)  # fmt: skip
from tamis.matching.columnar.planning_kernels import cell, mix

AHEAD = 6  # buckets fetched before they are needed
LINES = 5  # cache lines fetched of each
PROBES = 4096  # collected before the tables are looked at
FULL = np.uint64((1 << LANES) - 1)
ONE = np.uint64(1)


@bare_kernel
def append(pool: Any, ids: int, mask: Any, out: Any, end: int, compress: bool) -> int:
    """Appends the numbers at the lanes of a mask to the output."""
    if compress:
        return compress16(pool, ids, mask, out, end)
    if mask == FULL:
        for i in range(LANES):
            out[end + i] = pool[ids + i]
        return end + LANES
    while mask != 0:
        out[end] = pool[ids + np.int64(trailing_zeros(mask))]
        end += 1
        mask &= mask - ONE
    return end


@bare_kernel
def lanes_left(left: int) -> Any:
    """Mask of the lanes that are left."""
    return FULL if left >= LANES else (ONE << np.uint64(left)) - ONE


@bare_kernel
def search_first(pool: Any, start: int, count: int, value: int) -> int:
    """Count of the ascending bounds that are below the value."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if pool[start + middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@bare_kernel
def search_last(pool: Any, start: int, count: int, value: int) -> int:
    """Count of the ascending bounds that are not above the value."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if pool[start + middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@bare_kernel
def scan_shape(pool: Any, at: int, n: int, word: int, event: Any, out: Any, end: int, compress: bool, work: Any) -> Any:
    """Scans a SHAPE segment: cut by binary search on its first bounds, then compared sixteen at a time."""
    count = word & RESIDUALS
    ids = at + count
    # All entries have the same columns: if the event lacks one, the whole segment is skipped unread.
    bounds, present = 0, True
    for r in range(count):
        bounds += 2 if pool[at + r] >> END_SHIFT == BOTH else 1
        present &= event[pool[at + r] & COLUMN_BITS] != ABSENT
    stop = ids + n * (1 + bounds)
    if not present:
        return end, stop
    # Entries ascend by their first bounds, so those that pass it are a run: cut by binary search, then compare the
    # rest. `skip`: residuals that the search has decided for all of the run.
    first, last, skip = 0, n, 0
    if count > 0:
        kind, value = pool[at] >> END_SHIFT, event[pool[at] & COLUMN_BITS]
        if kind == UP_TO:
            first, skip = search_first(pool, ids + n, n, value), 1
        else:
            last = search_last(pool, ids + n, n, value)
            if kind == EXACTLY:
                first = search_first(pool, ids + n, last, value)
            skip = 0 if kind == BOTH else 1
    work[CANDIDATES] += last - first
    work[PREDICATES] += count * (last - first)
    # Nothing left to compare: the run itself is the answer.
    if skip == count:
        for i in range(last - first):
            out[end + i] = pool[ids + first + i]
        return end + last - first, stop
    i = first
    while i < last:
        # Sixteen entries: each residual clears the lanes that fail. Bounds are columns, so lanes are loaded in one go;
        # no branch on a lane.
        mask = lanes_left(last - i)
        bound = ids + n + i
        for r in range(count):
            kind, value = pool[at + r] >> END_SHIFT, event[pool[at + r] & COLUMN_BITS]
            if kind == BOTH:
                mask &= not_above16(pool, bound, value) & not_below16(pool, bound + n, value)
                bound += 2 * n
            else:
                if r >= skip:
                    if kind != UP_TO:
                        mask &= not_above16(pool, bound, value)
                    if kind != FROM:
                        mask &= not_below16(pool, bound, value)
                bound += n
        end = append(pool, ids + i, mask, out, end, compress)
        i += LANES
    return end, stop


@bare_kernel
def scan_rows(
    pool: Any, at: int, n: int, count: int, i: int, mask: Any, ids: int, event: Any, out: Any, end: int,
    compress: bool, work: Any,
) -> int:  # fmt: skip
    """Verifies sixteen entries of any columns: each residual gathered, until none is left."""
    r = 0
    while mask != 0 and r < count:
        column = at + 3 * n * r + i
        mask &= gathered_within16(pool, column, column + n, column + 2 * n, event, mask)
        r += 1
    work[PREDICATES] += r * min(LANES, n - i)
    return append(pool, ids + i, mask, out, end, compress) if mask != 0 else end


@bare_kernel
def scan_semi(pool: Any, at: int, n: int, count: int, event: Any, out: Any, end: int, compress: bool, work: Any) -> Any:
    """Scans a SEMI segment: the lead column compared for all entries, the other residuals for those left."""
    value = event[pool[at]]
    rows = at + 1 + 2 * n
    ids = rows + 3 * n * count
    if value != ABSENT:
        work[CANDIDATES] += n
        work[PREDICATES] += n
        for i in range(0, n, LANES):
            mask = not_above16(pool, at + 1 + i, value) & not_below16(pool, at + 1 + n + i, value) & lanes_left(n - i)
            end = scan_rows(pool, rows, n, count, i, mask, ids, event, out, end, compress, work)
    return end, ids + n


@bare_kernel
def scan_mixed(
    pool: Any, at: int, n: int, count: int, event: Any, out: Any, end: int, compress: bool, work: Any
) -> Any:
    """Scans a MIXED segment: every residual gathered."""
    ids = at + 3 * n * count
    work[CANDIDATES] += n
    if n < 3:
        work[PREDICATES] += n * count
        for i in range(n):
            held, column = True, at + i
            for _ in range(count):
                value = event[pool[column]]
                held &= (pool[column + n] <= value) & (value <= pool[column + 2 * n])
                column += 3 * n
            out[end] = pool[ids + i]
            end += held
    else:
        for i in range(0, n, LANES):
            end = scan_rows(pool, at, n, count, i, lanes_left(n - i), ids, event, out, end, compress, work)
    return end, ids + n


@bare_kernel
def any_within(codes: Any, start: int, stop: int, low: int, high: int) -> bool:
    """True if an ascending run has a code between two."""
    at = start + search_first(codes, start, stop - start, low)
    return at < stop and codes[at] <= high


@bare_kernel
def any_listed(codes: Any, start: int, stop: int, listed: Any, low: int, high: int) -> bool:
    """True if two ascending runs of codes have one in common."""
    for i in range(start, stop):
        at = low + search_first(listed, low, high - low, codes[i])
        if at < high and listed[at] == codes[i]:
            return True
    return False


@bare_kernel
def passes(test: int, e: int, event: Any, sets: Any, tests: Any, memory: Any, stamp: int) -> bool:
    """True if a test holds for an event; each test is evaluated at most once per event."""
    if memory[test] >> 1 == stamp:
        return memory[test] & 1 == 1
    _, _, columns, flags, lows, highs, listed, singles = tests
    set_ends, set_codes = sets
    column = columns[test]
    if column < singles:
        code = event[column]
        held = False
        if code != ABSENT:
            if flags[test] & LISTED:
                held = any_listed(event, column, column + 1, listed, lows[test], highs[test])
            else:
                held = lows[test] <= code and code <= highs[test]
    else:
        start, stop = set_ends[column - singles, e], set_ends[column - singles, e + 1]
        if flags[test] & LISTED:
            held = any_listed(set_codes, start, stop, listed, lows[test], highs[test])
        else:
            held = any_within(set_codes, start, stop, lows[test], highs[test])
    held ^= flags[test] & NEGATED == NEGATED
    memory[test] = 2 * stamp + held
    return held


@bare_kernel
def settle(
    loose: Any,
    count: int,
    e: int,
    event: Any,
    sets: Any,
    tests: Any,
    owners: Any,
    simple: int,
    memory: Any,
    seen: Any,
    stamp: int,
    out: Any,
    end: int,
    work: Any,
) -> int:
    """Evaluates the tests of loose conjunctions, and turns those that hold into subscriptions, each once."""
    test_offsets, test_numbers = tests[0], tests[1]
    for i in range(count):
        # Struck out since the level was built: a removed conjunction.
        c = loose[i]
        if c < 0:
            continue
        # Tests are shared between conjunctions: `memory` has the answer if another one asked for this event.
        held = True
        for j in range(test_offsets[c], test_offsets[c + 1]):
            work[PREDICATES] += memory[test_numbers[j]] >> 1 != stamp
            if not passes(test_numbers[j], e, event, sets, tests, memory, stamp):
                held = False
                break
        if not held:
            continue
        # One of several conjunctions of a subscription: `seen` keeps it from being reported twice.
        if c >= simple:
            c = owners[c - simple]
            if seen[c - simple] == stamp:
                continue
            seen[c - simple] = stamp
        out[end] = c
        end += 1
    return end


@bare_kernel
def scan_bucket(
    value: int, pool: Any, event: Any, out: Any, end: int, loose: Any, loose_end: int, compress: bool, work: Any
) -> Any:
    """Scans all segments of a bucket. Conjunctions with tests go to `loose`, to be settled once per event."""
    at = value >> SEGMENT_BITS
    for _ in range(value & ((1 << SEGMENT_BITS) - 1)):
        n, word = np.int64(pool[at]), np.int64(pool[at + 1])
        if word & SPECIAL:
            loose_end, at = scan_segment(pool, at + 2, n, word, event, loose, loose_end, compress, work)
        else:
            end, at = scan_segment(pool, at + 2, n, word, event, out, end, compress, work)
    return end, loose_end


@bare_kernel
def scan_segment(
    pool: Any, at: int, n: int, word: int, event: Any, out: Any, end: int, compress: bool, work: Any
) -> Any:
    """Scans a segment by its form."""
    form = (word >> FORM_SHIFT) & 3
    if form == MIXED:
        return scan_mixed(pool, at, n, word & RESIDUALS, event, out, end, compress, work)
    if form == SEMI:
        return scan_semi(pool, at, n, word & RESIDUALS, event, out, end, compress, work)
    return scan_shape(pool, at, n, word, event, out, end, compress, work)


@bare_kernel
def push(probes: Any, count: int, key: int, group: int, slots: Any, slot_starts: Any) -> int:
    """Notes a probe and prefetches its slot."""
    mask = slot_starts[group + 1] - slot_starts[group] - 1
    slot = np.int64(mix(key) & np.uint64(mask))
    probes[count, 0], probes[count, 1], probes[count, 2] = key, group, slot
    prefetch(slots, 2 * (slot_starts[group] + slot))
    return count + 1


@bare_kernel
def take(
    probes: Any,
    count: int,
    slots: Any,
    slot_starts: Any,
    hits: Any,
    pool: Any,
    event: Any,
    out: Any,
    end: int,
    loose: Any,
    loose_end: int,
    compress: bool,
    work: Any,
) -> Any:
    """Looks up the probes and scans the buckets found, prefetching some ahead."""
    # All probes are looked up before any bucket is scanned: their slots were prefetched when they were pushed, and the
    # first buckets are prefetched here while the other slots are read.
    found = 0
    for i in range(count):
        key, group, slot = probes[i, 0], probes[i, 1], probes[i, 2]
        base = slot_starts[group]
        mask = slot_starts[group + 1] - base - 1
        while True:
            there = slots[2 * (base + slot)]
            if there == key:
                hits[found] = slots[2 * (base + slot) + 1]
                if found < AHEAD:
                    for line in range(LINES):
                        prefetch(pool, (hits[found] >> SEGMENT_BITS) + LANES * line)
                found += 1
                break
            if there == -1:
                break
            slot = (slot + 1) & mask
    # Scan, keeping AHEAD buckets in flight: memory latency, not comparison, is the cost of a sparse hit.
    for i in range(found):
        if i + AHEAD < found:
            for line in range(LINES):
                prefetch(pool, (hits[i + AHEAD] >> SEGMENT_BITS) + LANES * line)
        end, loose_end = scan_bucket(hits[i], pool, event, out, end, loose, loose_end, compress, work)
    work[BUCKETS] += found
    work[PROBED] += count
    work[PREDICATES] += found
    return end, loose_end


@bare_kernel
def without_removed(out: Any, begin: int, end: int, compress: bool) -> int:
    """Drops the numbers struck out (-1) from the output; returns the new end."""
    kept = begin
    if compress:
        for i in range(begin, end, LANES):
            kept = compress16(out, i, not_below16(out, i, np.int32(0)) & lanes_left(end - i), out, kept)
        return kept
    for i in range(begin, end):
        out[kept] = out[i]
        kept += out[i] >= 0
    return kept


@bare_kernel
def match_events(
    codes: Any, sets: Any, first: int, plan: Any, ranges: Any, slots: Any, slot_starts: Any, root: int, pool: Any,
    tests: Any, owners: Any, simple: int, removed: bool, memory: Any, seen: Any, stamp: int, room: int, compress: bool,
    scratch: Any, loose: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """Matches events from `first` on until the output may not hold another one; returns the first left over.

    `ends[e + 1]`: the end in `out` of event e's matches; `ends[first]` is where to go on. `room` is what one event
    may need. `scratch`: words (see Plan) and codes of one event, its columns, its probes and hits. `work`: see
    `Work`. Stamps from `stamp` on must be new to the memory.
    """
    starts, sources, levels, places, group_sets, set_places = plan
    range_columns, edges = ranges
    singles = tests[7]
    set_ends, set_codes = sets
    words, event, present, probes, hits = scratch
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        here, begin, loose_end, stamp = 0, end, 0, stamp + 1
        # The event as words: its codes, then the quantile cells of its range columns; `present[:here]` lists the
        # columns it has.
        for column in range(singles):
            code = codes[e, column]
            event[column] = code
            words[column] = code
            present[here] = column
            here += code != ABSENT
        for i in range(len(range_columns)):
            column = range_columns[i]
            words[singles + 1 + column] = cell(edges, i, event[column]) if event[column] != ABSENT else -1
        for s in range(len(set_ends)):
            if set_ends[s, e] < set_ends[s, e + 1]:
                present[here] = singles + s
                here += 1
        # Conjunctions that no group pays for are scanned for every event.
        if root >= 0:
            end, loose_end = scan_bucket(root, pool, event, out, end, loose, loose_end, compress, work)
        # Groups hang under a column, so those of absent columns are never looked at. A group's key is put together by
        # shifts from up to three words; with a set column, one key for each code of the set.
        count = 0
        for i in range(here):
            for group in range(starts[present[i]], starts[present[i] + 1]):
                a, b, c = words[sources[group, 0]], words[sources[group, 1]], words[sources[group, 2]]
                if (a | b | c) < 0:  # some column is absent
                    continue
                key = (a >> levels[group, 0]) << places[group, 0]
                key |= (b >> levels[group, 1]) << places[group, 1]
                key |= (c >> levels[group, 2]) << places[group, 2]
                s = group_sets[group] - singles
                member = set_ends[s, e] if s >= 0 else 0
                stop = set_ends[s, e + 1] if s >= 0 else 1
                while member < stop:
                    full = key | (np.int64(set_codes[member]) << set_places[group]) if s >= 0 else key
                    count = push(probes, count, full, group, slots, slot_starts)
                    member += 1
                    # Full before the event is done: look these up and go on.
                    if count == PROBES:
                        end, loose_end = take(
                            probes, count, slots, slot_starts, hits, pool, event, out, end, loose, loose_end, compress,
                            work,
                        )  # fmt: skip
                        count = 0
        end, loose_end = take(
            probes, count, slots, slot_starts, hits, pool, event, out, end, loose, loose_end, compress, work
        )
        # Tests come last, for the conjunctions that intervals let through only.
        if loose_end > 0:
            end = settle(loose, loose_end, e, event, sets, tests, owners, simple, memory, seen, stamp, out, end, work)
        if removed:
            end = without_removed(out, begin, end, compress)
        ends[e + 1] = end
    return len(codes)
