"""Which of many sets of values lie within another one, or around it: a sieve, so that not all pairs are compared."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from operator import or_

from tamis.language.extents import NOTHING, Cut, Extent, Range


class Nesting:
    """Extents under numbers; every answer is a set of bits, a bit a number, and may have some too many.

    It has none too many where the extents are single ranges, which most are.
    """

    def __init__(self, extents: Sequence[tuple[int, Extent]]) -> None:
        """`extents` gives each with its number."""
        uses = Counter(part for _, extent in extents for part in extent)
        self._all = sum(1 << number for number, _ in extents)
        self._empty = sum(1 << number for number, extent in extents if extent == NOTHING)
        some = [(number, extent) for number, extent in extents if extent != NOTHING]
        # Where the rarest of its ranges lies within, an extent may: the rarest of them says most.
        self._rarest = _Ends([(number, min(extent, key=uses.__getitem__)) for number, extent in some])
        self._hulls = _Ends([(number, (extent[0][0], extent[-1][1])) for number, extent in some])

    def within(self, extent: Extent) -> int:
        """Those of which every value is in the extent."""
        found = self._empty
        for part in extent:
            found |= self._rarest.within(part)
        return found

    def around(self, extent: Extent) -> int:
        """Those that have every value of the extent."""
        return self._all if extent == NOTHING else self._hulls.around((extent[0][0], extent[-1][1]))


class _Ends:
    """Numbered ranges in the order of their starts and of their ends, with the sets of all before and after each."""

    def __init__(self, ranges: Sequence[tuple[int, Range]]) -> None:
        by_start = sorted((part[0], number) for number, part in ranges)
        by_end = sorted((part[1], number) for number, part in ranges)
        self._starts: list[Cut] = [cut for cut, _ in by_start]
        self._ends: list[Cut] = [cut for cut, _ in by_end]
        starting = [1 << number for _, number in by_start]
        ending = [1 << number for _, number in by_end]
        self._start_before = list(accumulate(starting, or_, initial=0))
        self._start_from = list(accumulate(reversed(starting), or_, initial=0))[::-1]
        self._end_before = list(accumulate(ending, or_, initial=0))
        self._end_from = list(accumulate(reversed(ending), or_, initial=0))[::-1]

    def within(self, part: Range) -> int:
        start, end = part
        return self._start_from[bisect_left(self._starts, start)] & self._end_before[bisect_right(self._ends, end)]

    def around(self, part: Range) -> int:
        start, end = part
        return self._start_before[bisect_right(self._starts, start)] & self._end_from[bisect_left(self._ends, end)]
