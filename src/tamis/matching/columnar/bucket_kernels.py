"""Kernels that lay out the columnar index: entries into hash buckets, buckets into segments of one flat pool.

A segment holds entries that are verified alike. Its header is `count`, then a word: residual intervals (8 bits), the
segment's form (2 bits), whether some entry needs more than intervals (SPECIAL). The forms:

SHAPE  entries with the same residual columns and ends: per residual `column | end << 24`; numbers; a column of bounds
       for each end. Ascending by the first bounds, so that a binary search cuts it.
SEMI   entries whose most selective residual is on the same column: that column; lows; highs; then as MIXED.
MIXED  any entries: for each residual, columns, lows, highs (padded with an interval that always holds); numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import kernel
from tamis.matching.codes.encoding import HIGHEST, LOWEST
from tamis.matching.columnar.planning_kernels import mix

SHAPE, SEMI, MIXED = 0, 1, 2
FORM_SHIFT, SPECIAL, RESIDUALS = 8, 1 << 10, 255
BOTH, FROM, UP_TO, EXACTLY = 0, 1, 2, 3  # which ends of an interval are bounds
END_SHIFT, COLUMN_BITS = 24, (1 << 24) - 1
SEGMENT_BITS = 24  # of a bucket's value: how many segments; the rest is where they begin

SHAPE_LEAST = 48  # entries that make a shape segment worth its header and its search
SEMI_LEAST = 32
MIXED_LEAST, MIXED_MOST = 16, 64  # shorter runs of equal length are padded together, up to so many
HALF_SAID = 0.55  # how selective an interval still is once a cell of it is known
LENGTH_SHIFT = 56  # of a signature: how many residuals


@kernel
def fill_buckets(group_count: int, groups: Any, keys: Any, sizes: Any) -> Any:
    """Groups entries into buckets of equal (group, key).

    Returns the slots (key, bucket), their starts by group, bucket ends, entry order. Each group has its own
    open-addressing table, at most half full.
    """
    # First pass: count the distinct keys of each group, in tables large enough for all its entries. The final tables
    # are sized by that count: often far smaller, and every event probes them.
    starts = np.zeros(group_count + 1, np.int64)
    for g in range(group_count):
        size = 4
        while size < 2 * sizes[g]:
            size *= 2
        starts[g + 1] = starts[g] + size
    seen = np.full(starts[group_count], -1, np.int64)
    distinct = np.zeros(group_count, np.int64)
    for i in range(len(groups)):
        base, mask = starts[groups[i]], starts[groups[i] + 1] - starts[groups[i]] - 1
        slot = np.int64(mix(keys[i]) & np.uint64(mask))
        while seen[base + slot] != -1 and seen[base + slot] != keys[i]:
            slot = (slot + 1) & mask
        if seen[base + slot] == -1:
            seen[base + slot] = keys[i]
            distinct[groups[i]] += 1
    # `starts` now bounds the final tables; key and bucket lie side by side, for one probe to read both.
    for g in range(group_count):
        size = 2
        while size < 2 * distinct[g]:
            size *= 2
        starts[g + 1] = starts[g] + size
    # Second pass: enter the keys; buckets are numbered by first appearance, and `bucket_of` notes each entry's.
    slots = np.full(2 * starts[group_count], -1, np.int64)
    bucket_of = np.empty(len(groups), np.int64)
    count = 0
    for i in range(len(groups)):
        base, mask = starts[groups[i]], starts[groups[i] + 1] - starts[groups[i]] - 1
        slot = np.int64(mix(keys[i]) & np.uint64(mask))
        while slots[2 * (base + slot)] != -1 and slots[2 * (base + slot)] != keys[i]:
            slot = (slot + 1) & mask
        if slots[2 * (base + slot)] == -1:
            slots[2 * (base + slot)] = keys[i]
            slots[2 * (base + slot) + 1] = count
            count += 1
        bucket_of[i] = slots[2 * (base + slot) + 1]
    # Counting sort of the entries by bucket: `order[ends[b]:ends[b + 1]]` are those of bucket b.
    ends = np.zeros(count + 1, np.int64)
    for i in range(len(groups)):
        ends[bucket_of[i] + 1] += 1
    for b in range(count):
        ends[b + 1] += ends[b]
    filled = ends[:-1].copy()
    order = np.empty(len(groups), np.int64)
    for i in range(len(groups)):
        order[filled[bucket_of[i]]] = i
        filled[bucket_of[i]] += 1
    return slots, starts, ends, order


@kernel
def end_of(low: int, high: int) -> int:
    if low == high:
        return EXACTLY
    if high == HIGHEST:
        return FROM
    return UP_TO if low == LOWEST else BOTH


@kernel
def is_residual(mask: int, place: int, column: int, singles: int) -> bool:
    """True if an interval is still to be verified; conditions on sets are among the tests."""
    return column < singles and (place >= 31 or (mask >> place) & 1 == 0)


@kernel
def signatures(members: Any, masks: Any, conjuncts: Any, special: Any, singles: int) -> Any:
    """Signature of each entry, equal for those that fit one shape segment; the number of residuals on top."""
    offsets, columns, lows, highs = conjuncts
    out = np.empty(len(members), np.int64)
    for i in range(len(members)):
        c = members[i]
        value, length = np.uint64(0), 0
        for j in range(offsets[c], offsets[c + 1]):
            if is_residual(masks[i], j - offsets[c], columns[j], singles):
                value = mix(
                    np.int64(value * np.uint64(1000003) + np.uint64(columns[j] * 4 + end_of(lows[j], highs[j]) + 1))
                )
                length += 1
        out[i] = (
            np.int64(value >> np.uint64(9)) | (np.int64(special[c]) << (LENGTH_SHIFT - 1)) | (length << LENGTH_SHIFT)
        )
    return out


@kernel
def residuals(entry: int, entries: Any, places: Any, widths: Any) -> int:
    """Writes an entry's residual intervals, the most selective first; returns how many."""
    members, masks, conjuncts, _, _, tops, singles, _ = entries
    offsets, columns, lows, highs = conjuncts
    c, count = members[entry], 0
    for j in range(offsets[c], offsets[c + 1]):
        column = columns[j]
        if not is_residual(masks[entry], j - offsets[c], column, singles):
            continue
        top = np.float64(tops[column])
        width = (
            0.0 if lows[j] == highs[j] else (min(np.float64(highs[j]), top) - max(np.float64(lows[j]), 0.0)) / (top + 1)
        )
        if j - offsets[c] < 31 and (masks[entry] >> (32 + j - offsets[c])) & 1:
            width = max(width, HALF_SAID)
        at = count
        while at > 0 and widths[at - 1] > width:
            widths[at], places[at] = widths[at - 1], places[at - 1]
            at -= 1
        widths[at], places[at] = width, j
        count += 1
    return count


@kernel
def sort_by(keys: Any, entries: Any) -> None:
    """Sorts a bucket's entries by their keys; most buckets are tiny."""
    if len(entries) <= 12:
        for i in range(1, len(entries)):
            entry, at = entries[i], i
            while at > 0 and keys[entries[at - 1]] > keys[entry]:
                entries[at] = entries[at - 1]
                at -= 1
            entries[at] = entry
        return
    here = np.empty(len(entries), np.int64)
    for i in range(len(entries)):
        here[i] = keys[entries[i]]
    order, old = np.argsort(here, kind="mergesort"), entries.copy()
    for i in range(len(entries)):
        entries[i] = old[order[i]]


@kernel
def roomy(pool: Any, need: int) -> Any:
    """The pool, or a larger copy if it has no room up to `end`."""
    if need <= len(pool):
        return pool
    larger = np.empty(max(need, 2 * len(pool)), np.int32)
    larger[: len(pool)] = pool
    return larger


@kernel
def narrowest(chosen: Any, places: Any, kinds: Any, count: int, entries: Any) -> int:
    """Residual of entries with one signature that leaves the least when it is searched."""
    members, conjuncts, tops = entries[0], entries[2], entries[5]
    offsets, columns, lows, highs = conjuncts
    best, least = 0, 1e18
    for r in range(count):
        left = -1.0
        if kinds[r] != EXACTLY:
            left = 0.0
            top = np.float64(tops[columns[offsets[members[chosen[0]]] + places[r]]])
            for i in range(min(len(chosen), 64)):
                j = offsets[members[chosen[i]]] + places[r]
                if kinds[r] == FROM:
                    left += 1 - np.float64(max(lows[j], 0)) / (top + 1)
                elif kinds[r] == UP_TO:
                    left += np.float64(min(highs[j], top)) / (top + 1)
                else:
                    left += 0.6
        if left < least:
            best, least = r, left
    return best


@kernel
def write_shape(pool: Any, end: int, chosen: Any, entries: Any) -> Any:
    """Writes a SHAPE segment of entries with one signature; returns the pool and its new end."""
    members, masks, conjuncts, special, _, _, singles, positions = entries
    offsets, columns, lows, highs = conjuncts
    # All entries have the residual columns and ends of the first: read them once.
    n, first = len(chosen), members[chosen[0]]
    places, kinds, count = np.empty(64, np.int64), np.empty(64, np.int64), 0
    for j in range(offsets[first], offsets[first + 1]):
        if is_residual(masks[chosen[0]], j - offsets[first], columns[j], singles):
            places[count], kinds[count] = j - offsets[first], end_of(lows[j], highs[j])
            count += 1
    if count > 0:
        # The interval that leaves the least when it is searched comes first, and the entries ascend by its bounds: a
        # match cuts the segment by binary search before it compares anything.
        best = narrowest(chosen, places, kinds, count, entries)
        places[0], places[best] = places[best], places[0]
        kinds[0], kinds[best] = kinds[best], kinds[0]
        bounds = np.empty(n, np.int64)
        for i in range(n):
            j = offsets[members[chosen[i]]] + places[0]
            bounds[i] = highs[j] if kinds[0] == UP_TO else lows[j]
        order, old = np.argsort(bounds, kind="mergesort"), chosen.copy()
        for i in range(n):
            chosen[i] = old[order[i]]
    # Header, then columns, numbers and bounds as described at the top of this file. `positions` remembers where each
    # entry's number stands, so that a removal can strike it out.
    pool = roomy(pool, end + 2 + count + n * (1 + 2 * count))
    pool[end] = n
    pool[end + 1] = count | (SHAPE << FORM_SHIFT) | (SPECIAL if special[first] else 0)
    end += 2
    for r in range(count):
        pool[end + r] = columns[offsets[first] + places[r]] | (kinds[r] << END_SHIFT)
    end += count
    for i in range(n):
        pool[end + i] = members[chosen[i]]
        positions[chosen[i]] = end + i
    end += n
    # Bounds by residual, each end a column of its own: sixteen entries are compared in one instruction. Ends that
    # always hold are not stored.
    for r in range(count):
        if kinds[r] != UP_TO:
            for i in range(n):
                pool[end + i] = lows[offsets[members[chosen[i]]] + places[r]]
            end += n
        if kinds[r] == BOTH or kinds[r] == UP_TO:
            for i in range(n):
                pool[end + i] = highs[offsets[members[chosen[i]]] + places[r]]
            end += n
    return pool, end


@kernel
def write_shapes(pool: Any, end: int, chosen: Any, entries: Any, rest: Any) -> Any:
    """Writes SHAPE segments of the entries that share a signature with enough others; the rest go to `rest`.

    Returns the pool, its new end, how many segments were written, and how many entries are left.
    """
    signature, segments, left, i = entries[4], 0, 0, 0
    sort_by(signature, chosen)
    while i < len(chosen):
        j = i
        while j < len(chosen) and signature[chosen[j]] == signature[chosen[i]]:
            j += 1
        if j - i < SHAPE_LEAST:
            for k in range(i, j):
                rest[left] = chosen[k]
                left += 1
        else:
            pool, end = write_shape(pool, end, chosen[i:j], entries)
            segments += 1
        i = j
    return pool, end, segments, left


@kernel
def write_rows(pool: Any, end: int, chosen: Any, skip: int, length: int, entries: Any) -> int:
    """Writes entries' residuals from the skip-th on: columns, lows, highs, padded to `length`; then numbers."""
    members, conjuncts, singles, positions = entries[0], entries[2], entries[6], entries[7]
    columns, lows, highs = conjuncts[1], conjuncts[2], conjuncts[3]
    n = len(chosen)
    places, widths = np.empty(64, np.int64), np.empty(64)
    for i in range(n):
        count = residuals(chosen[i], entries, places, widths)
        for r in range(length):
            at = end + 3 * n * r + i
            if r + skip < count:
                j = places[r + skip]
                pool[at], pool[at + n], pool[at + 2 * n] = columns[j], lows[j], highs[j]
            else:
                pool[at], pool[at + n], pool[at + 2 * n] = singles, LOWEST, HIGHEST
        pool[end + 3 * n * length + i] = members[chosen[i]]
        positions[chosen[i]] = end + 3 * n * length + i
    return end + n * (3 * length + 1)


@kernel
def write_semis(pool: Any, end: int, chosen: Any, entries: Any, leads: Any) -> Any:
    """Writes SEMI segments where enough entries share a lead column; the others move to the front of `chosen`.

    Returns as `write_shapes`. `leads` is scratch: the column of each entry's most selective residual, or -1.
    """
    members, _, conjuncts, special, signature, _, _, _ = entries
    columns, lows, highs = conjuncts[1], conjuncts[2], conjuncts[3]
    places, widths = np.empty(64, np.int64), np.empty(64)
    # Entries with the same lead column (that of their most selective residual) stand together after sorting.
    for k in range(len(chosen)):
        count = residuals(chosen[k], entries, places, widths)
        leads[chosen[k]] = columns[places[0]] if count > 0 else -1
    sort_by(leads, chosen)
    segments, left, i = 0, 0, 0
    while i < len(chosen):
        # [i, j) share a lead column; `length` is how many residuals the longest of them has besides it.
        j, length, is_special = i, 0, 0
        while j < len(chosen) and leads[chosen[j]] == leads[chosen[i]]:
            length = max(length, (signature[chosen[j]] >> LENGTH_SHIFT) - 1)
            is_special |= special[members[chosen[j]]]
            j += 1
        n = j - i
        # Too few entries to be worth a header, or none with a residual: they are left for a MIXED segment.
        if leads[chosen[i]] < 0 or n < SEMI_LEAST:
            for k in range(i, j):
                chosen[left] = chosen[k]
                left += 1
        else:
            pool = roomy(pool, end + 3 + n * (3 * length + 3))
            pool[end], pool[end + 2] = n, leads[chosen[i]]
            pool[end + 1] = length | (SEMI << FORM_SHIFT) | (SPECIAL if is_special else 0)
            end += 3
            # Bounds on the lead column stand first and are compared for all entries; the other residuals only for those
            # left.
            for k in range(n):
                residuals(chosen[i + k], entries, places, widths)
                pool[end + k], pool[end + n + k] = lows[places[0]], highs[places[0]]
            end = write_rows(pool, end + 2 * n, chosen[i:j], 1, length, entries)
            segments += 1
        i = j
    return pool, end, segments, left


@kernel
def write_mixed(pool: Any, end: int, chosen: Any, entries: Any) -> Any:
    """Writes all entries in MIXED segments, sorted by signature; returns the pool, its new end, the segment count."""
    members, special, signature = entries[0], entries[3], entries[4]
    segments, i = 0, 0
    while i < len(chosen):
        length = signature[chosen[i]] >> LENGTH_SHIFT
        j = i
        while j < len(chosen) and signature[chosen[j]] >> LENGTH_SHIFT == length:
            j += 1
        if j - i < MIXED_LEAST:
            j = min(len(chosen), i + MIXED_MOST)
            length = signature[chosen[j - 1]] >> LENGTH_SHIFT
        is_special = 0
        for k in range(i, j):
            is_special |= special[members[chosen[k]]]
        pool = roomy(pool, end + 2 + (j - i) * (3 * length + 1))
        pool[end] = j - i
        pool[end + 1] = length | (MIXED << FORM_SHIFT) | (SPECIAL if is_special else 0)
        end = write_rows(pool, end + 2, chosen[i:j], 0, length, entries)
        segments += 1
        i = j
    return pool, end, segments


@kernel
def lay_out(bucket_ends: Any, order: Any, entries: Any, values: Any) -> Any:
    """Writes every bucket's segments. `values[b]`: where bucket b begins, and how many segments it has.

    `entries`, by number: conjunction, mask (see `deal`); the conjunctions' rows, which of them are special; signature;
    the highest code of each column, how many single-code columns; and, written here, positions of entries in the pool.
    """
    pool, end = np.empty(max(1024, 8 * len(order)), np.int32), 0
    rest, leads = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    for bucket in range(len(bucket_ends) - 1):
        start, chosen = end, order[bucket_ends[bucket] : bucket_ends[bucket + 1]]
        pool, end, segments, left = write_shapes(pool, end, chosen, entries, rest)
        if left >= SEMI_LEAST:
            pool, end, more, left = write_semis(pool, end, rest[:left], entries, leads)
            segments += more
            sort_by(entries[4], rest[:left])
        pool, end, more = write_mixed(pool, end, rest[:left], entries)
        values[bucket] = (start << SEGMENT_BITS) | (segments + more)
    return pool[:end].copy()
