"""What the kernels of several algorithms share: an event's codes, intervals, and what is left after them."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.matching.columnar.probing_kernels import passes
from tamis.matching.matches import PREDICATES


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
def settle(
    begin: int, end: int, e: int, event: Any, sets: Any, rest: Any, memory: Any, seen: Any, stamp: int, out: Any,
    work: Any,
) -> int:  # fmt: skip
    """Turns the conjunctions `out[begin:end]`, whose intervals hold, into subscriptions, in place; returns their end.

    What intervals could not say is tested, what was removed is left out, and a subscription of several is written once.
    All of an event's at once: a call for each would cost more than its work.
    """
    alive, special, tests, owners, simple = rest
    kept = begin
    for i in range(begin, end):
        c = out[i]
        held = alive[c] != 0
        if held and special[c]:
            for j in range(tests[0][c], tests[0][c + 1]):
                test = tests[1][j]
                work[PREDICATES] += memory[test] >> 1 != stamp
                if not passes(test, e, event, sets, tests, memory, stamp):
                    held = False
                    break
            if held and c >= simple:
                c = owners[c - simple]
                held = seen[c - simple] != stamp
                seen[c - simple] = stamp
        out[kept] = c
        kept += held
    return kept
