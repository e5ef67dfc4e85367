"""One conjunction against all rows of a table, both directions in one pass.

`buckets`: signatures of the columns, widths, first rows, numbers of rows, first cells, first columns. A row of a bucket
has a cell a column, a predicate; its owner is twice a number, and one more if the owner has other rows as well.
`predicates` is `PredicateIndex.flat`.
"""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.routing.predicates.bounds import POINT, RANGES, SEVERAL, WHOLE

# It does not follow; it needs a closer look; it follows.
NO, ASK, YES = range(3)
# What `relate_to_all` looks for.
COVERING, COVERED = 1, 2
# What it counts: rows that cover, rows that are covered, rows compared, whether room ran out.
FOUND_COVERING, FOUND_COVERED, COMPARED, FULL = range(4)


@inlined_kernel
def follows(stronger: int, weaker: int, predicates: Any) -> int:
    """Whether one predicate follows from another one on the same column: NO, ASK or YES."""
    lows, highs, flags, starts, counts, range_lows, range_highs = predicates
    if stronger == weaker or flags[weaker] & WHOLE:
        return YES
    if (flags[stronger] | flags[weaker]) & SEVERAL:
        return ASK
    if lows[stronger] < lows[weaker] or highs[stronger] > highs[weaker]:
        return NO
    if flags[weaker] & RANGES:
        if counts[weaker] == 1:
            return YES
        k, end = starts[weaker], starts[weaker] + counts[weaker]
        for i in range(starts[stronger], starts[stronger] + counts[stronger]):
            while k < end and range_highs[k] < range_lows[i]:
                k += 1
            if k == end or range_lows[i] < range_lows[k] or range_highs[i] > range_highs[k]:
                return NO
        return YES
    return NO if flags[weaker] & POINT else ASK


@bare_kernel
def aligned(small: Any, first: int, width: int, large: Any, begin: int, end: int, places: Any) -> bool:
    """True if all of some columns are among others, ascending; and where, into `places`."""
    k = begin
    for j in range(width):
        while k < end and large[k] < small[first + j]:
            k += 1
        if k == end or large[k] != small[first + j]:
            return False
        places[j] = k - begin
    return True


@inlined_kernel
def all_follow(strong: Any, first: int, places: Any, weak: Any, start: int, width: int, predicates: Any) -> int:
    """Whether each of some predicates follows from the one at its place among others: NO, ASK or YES."""
    answer = YES
    for j in range(width):
        answer = min(answer, follows(strong[first + places[j]], weak[start + j], predicates))
        if answer == NO:
            break
    return answer


@inlined_kernel
def note(found: Any, kind: int, owner: int, answer: int, work: Any) -> None:
    """Writes a pair down, or that there is no room."""
    if work[kind] == len(found):
        work[FULL] = 1
    else:
        found[work[kind], 0], found[work[kind], 1] = owner, answer
        work[kind] += 1


@bare_kernel
def relate_to_all(
    wanted: int, once: bool, signature: Any, columns: Any, terms: Any, width: int, buckets: Any, count: int,
    bucket_columns: Any, cells: Any, owners: Any, predicates: Any, places: Any, covering: Any, covered: Any, work: Any,
) -> None:  # fmt: skip
    """Rows that cover a conjunction into `covering`, and rows that it covers into `covered`, as pairs (owner, answer).

    `once`: the first row that surely covers it ends the search, and the first owner that it surely covers ends the
    search for rows that cover it, which then there are none of (the paper's Fig 7). `work`: how many were found.
    """
    signatures, widths, first_rows, row_counts, first_cells, first_columns = buckets
    upward, downward = wanted & COVERING != 0, wanted & COVERED != 0
    for b in range(count):
        rows, size, first = row_counts[b], widths[b], first_columns[b]
        if rows == 0:
            continue
        above = upward and signatures[b] & ~signature == 0 and size <= width
        if above and aligned(bucket_columns, first, size, columns, 0, width, places):
            work[COMPARED] += rows
            for r in range(rows):
                answer = all_follow(terms, 0, places, cells, first_cells[b] + r * size, size, predicates)
                if answer != NO:
                    note(covering, FOUND_COVERING, owners[first_rows[b] + r] >> 1, answer, work)
                    if answer == YES and once:
                        return
        below = downward and signature & ~signatures[b] == 0 and size >= width
        if below and aligned(columns, 0, width, bucket_columns, first, first + size, places):
            work[COMPARED] += rows
            for r in range(rows):
                answer = all_follow(cells, first_cells[b] + r * size, places, terms, 0, width, predicates)
                if answer != NO:
                    owner = owners[first_rows[b] + r]
                    note(covered, FOUND_COVERED, owner >> 1, answer, work)
                    if answer == YES and once and owner & 1 == 0:
                        upward = False
