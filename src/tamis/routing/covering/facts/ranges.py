"""Sets of places as ascending, disjoint ranges that do not touch: `lows[i] <= place <= highs[i]`.

A set in working memory is a stretch of two arrays, `sets`, the lows and the highs: it is named by where it begins, and
has as many ranges as the function that wrote it returned.
"""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel


@bare_kernel
def whole(count: int, sets: Any, out: int) -> int:
    """All places there are."""
    sets[0][out], sets[1][out] = 0, count - 1
    return 1


@bare_kernel
def of_codes(below: Any, start: int, codes: int, low: int, high: int, sets: Any, out: int) -> int:
    """The places among the codes from low to high; an attribute has so many codes, and open ends lie beyond them."""
    first = below[start + min(max(low, 0), codes)]
    last = below[start + min(max(high, -1), codes - 1) + 1] - 1
    sets[0][out], sets[1][out] = first, last
    return 1 if first <= last else 0


@bare_kernel
def of_list(below: Any, start: int, listed: Any, begin: int, end: int, sets: Any, out: int) -> int:
    """The places of listed codes, ascending."""
    n = 0
    for i in range(begin, end):
        place = below[start + listed[i]]
        if below[start + listed[i] + 1] == place:
            continue
        if n > 0 and sets[1][out + n - 1] + 1 >= place:
            sets[1][out + n - 1] = place
        else:
            sets[0][out + n], sets[1][out + n] = place, place
            n += 1
    return n


@bare_kernel
def intersect(sets: Any, a: int, na: int, b: int, nb: int, out: int) -> int:
    """What is in both."""
    i = j = n = 0
    while i < na and j < nb:
        low, high = max(sets[0][a + i], sets[0][b + j]), min(sets[1][a + i], sets[1][b + j])
        if low <= high:
            sets[0][out + n], sets[1][out + n] = low, high
            n += 1
        if sets[1][a + i] <= sets[1][b + j]:
            i += 1
        else:
            j += 1
    return n


@bare_kernel
def subtract(sets: Any, a: int, na: int, b: int, nb: int, out: int) -> int:
    """What is in the first and not in the second."""
    j = n = 0
    for i in range(na):
        low, high = sets[0][a + i], sets[1][a + i]
        while j < nb and sets[1][b + j] < low:
            j += 1
        k = j
        while k < nb and sets[0][b + k] <= high:
            if sets[0][b + k] > low:
                sets[0][out + n], sets[1][out + n] = low, sets[0][b + k] - 1
                n += 1
            low = sets[1][b + k] + 1
            k += 1
        if low <= high:
            sets[0][out + n], sets[1][out + n] = low, high
            n += 1
    return n


@bare_kernel
def copy_set(sets: Any, a: int, n: int, out: int) -> None:
    for i in range(n):
        sets[0][out + i], sets[1][out + i] = sets[0][a + i], sets[1][a + i]


@bare_kernel
def holds_all(offsets: Any, lows: Any, highs: Any, large: int, small: int) -> bool:
    """Whether one kept set has all places of another."""
    if large == small:
        return True
    i, stop = offsets[large], offsets[large + 1]
    for j in range(offsets[small], offsets[small + 1]):
        while i < stop and highs[i] < lows[j]:
            i += 1
        if i == stop or lows[i] > lows[j] or highs[i] < highs[j]:
            return False
    return True
