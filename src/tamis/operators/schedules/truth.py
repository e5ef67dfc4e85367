"""What is known of a predicate, and of a subscription, on one event."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel, inlined_kernel

NOT_ASKED = -1
FALSE = 0
TRUE = 1
UNKNOWN = 2
"""The operator failed: whatever wants the predicate does not match, all else goes on, and nothing is learned of it."""

# Of a subscription: so many predicates open and all others true, or one of these.
DECIDED = 0  # against it, or it was never in question
MATCHED = 65_535


@inlined_kernel
def undecided(left: int) -> bool:
    return left != DECIDED and left != MATCHED


@bare_kernel
def matched(left: Any, base: int, some: Any, begin: int, end: int, out: Any, written: int) -> int:
    """Writes those of the listed subscriptions that match; returns how many are written in all."""
    for i in range(begin, end):
        if left[base + some[i]] == MATCHED:
            out[written] = some[i]
            written += 1
    return written
