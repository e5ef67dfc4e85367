"""What the kernels of several algorithms share: an event's codes, intervals, and what is left after them."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.matching.columnar.probing.kernels import passes

CANDIDATES, BUCKETS, PROBES, PREDICATES, NODES = range(5)  # of the work's counters


@bare_kernel
def load(codes: Any, e: int, event: Any) -> None:
    """Copies one event's codes out: what small kernels hand each other is then one array."""
    for column in range(len(event)):
        event[column] = codes[e, column]


@bare_kernel
def holds(intervals: Any, c: int, event: Any, work: Any) -> bool:
    """Whether all intervals of row c hold. An absent attribute fails each of them by itself."""
    for i in range(intervals.offsets[c], intervals.offsets[c + 1]):
        code = event[intervals.columns[i]]
        work[PREDICATES] += 1
        if code < intervals.lows[i] or intervals.highs[i] < code:
            return False
    return True


@bare_kernel
def emit(
    c: int, e: int, event: Any, sets: Any, rest: Any, memory: Any, seen: Any, stamp: int, out: Any, end: int, work: Any
) -> int:
    """A conjunction whose intervals hold: what they could not say is tested; its subscription is written once."""
    alive, special, tests, owners, simple = rest
    if alive[c] == 0:
        return end
    if special[c]:
        for j in range(tests[0][c], tests[0][c + 1]):
            test = tests[1][j]
            work[PREDICATES] += memory[test] >> 1 != stamp
            if not passes(test, e, event, sets, tests, memory, stamp):
                return end
        if c >= simple:
            c = owners[c - simple]
            if seen[c - simple] == stamp:
                return end
            seen[c - simple] = stamp
    out[end] = c
    return end + 1
