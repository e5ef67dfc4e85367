"""Predicates in buckets by what they promise; a lane has buckets of its own in flat arrays.

Promises are put into one bucket if they agree in sign, exponent and the first four bits of their fraction as 32-bit
floats: they differ by at most a sixteenth. A bucket is a doubly linked list, so a predicate moves in a few steps, where
a heap would take as many as its depth. `first[bucket]` heads the list, `ahead` and `behind` are a predicate's
neighbours in it (-1: none), and `bucket` says which one it is in (-1: none). Kernels over a state with these four
arrays; `known` is where the lane's predicates begin, `shelf` where its buckets do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import inlined_kernel

SHIFT = 19  # leaves 4 bits of a fraction's 23
LOWEST = (127 - 40) << 4  # bucket 0: 2^-40 and less
BUCKETS = (80 << 4) + 1  # the last: 2^40 and more, up to infinity


@inlined_kernel
def bucket_for(promise: Any) -> int:
    """The bucket of a promise above 0."""
    place = (np.int64(np.float32(promise).view(np.int32)) >> SHIFT) - LOWEST
    if place < 0:
        return 0
    return BUCKETS - 1 if place >= BUCKETS else int(place)


@inlined_kernel
def put(state: Any, known: int, shelf: int, predicate: int, bucket: int) -> None:
    """A predicate that is in no bucket comes first in this one."""
    head = state.first[shelf + bucket]
    state.first[shelf + bucket] = predicate
    state.behind[known + predicate] = head
    state.ahead[known + predicate] = -1
    state.bucket[known + predicate] = bucket
    if head >= 0:
        state.ahead[known + head] = predicate


@inlined_kernel
def take(state: Any, known: int, shelf: int, predicate: int) -> None:
    """A predicate leaves its bucket."""
    ahead, behind = state.ahead[known + predicate], state.behind[known + predicate]
    if ahead >= 0:
        state.behind[known + ahead] = behind
    else:
        state.first[shelf + state.bucket[known + predicate]] = behind
    if behind >= 0:
        state.ahead[known + behind] = ahead
    state.bucket[known + predicate] = -1
