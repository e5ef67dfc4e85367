"""Codes: what a value becomes before it is compared.

Every constant that the subscriptions of a level compare an attribute with has a rank r among that attribute's
constants, and the code 2r + 1; a value between two constants has the even code between theirs. So every comparison
of the language is `low <= code <= high` over int32, exactly, and an absent attribute fails each of them by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tamis.arrays import Arrays, Int32s
from tamis.errors import TamisError

ABSENT = np.int32(-(2**31))  # below LOWEST: fails every interval
LOWEST = np.int32(-(2**31) + 1)  # an open lower end
HIGHEST = np.int32(2**31 - 1)  # an open upper end

MOST_NUMBERED = 2**31 - 1  # conjunctions, entries, words of a level: their numbers are int32 too
MOST_COLUMNS = 2**16  # of a level: uint16, and what a dimension's id leaves for them


def refuse_excess(count: int, most: int, what: str) -> None:
    """`TamisError` where a level would need numbers that do not fit."""
    if count > most:
        raise TamisError(
            f"the subscriptions come to {count:,} {what} and an index holds {most:,}; compile them into several indexes"
        )


# Conjunctions over codes: what is left of the subscriptions once their constants have become codes.


NEGATED, LISTED = 1, 2  # flags of a test


@dataclass(frozen=True)
class Conjuncts:
    """Conjunction c holds iff all its intervals and all its tests do.

    Intervals `offsets[c]:offsets[c + 1]`, ascending by column, a column once: `lows <= code <= highs` on single-code
    columns. On a set column an interval is one code that the set must contain; it is there to find the conjunction by,
    and the same condition stands among the tests, which alone decide it.

    Tests `test_offsets[c]:test_offsets[c + 1]` are numbers of distinct tests: some code of the test's column lies in
    `test_lows..test_highs`, or, if LISTED, among `listed[test_lows:test_highs]` (ascending); NEGATED turns it round.
    Conjunctions below `simple` are the one conjunction of the subscription of the same number; the others
    belong to subscription `owners[c - simple]` (ascending), which has several.
    """

    simple: int
    owners: Int32s
    offsets: Int32s
    columns: npt.NDArray[np.uint16]
    lows: Int32s
    highs: Int32s
    test_offsets: Int32s
    tests: Int32s
    test_columns: Int32s
    test_flags: Int32s
    test_lows: Int32s
    test_highs: Int32s
    listed: Int32s

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def special(self) -> npt.NDArray[np.int8]:
        """Conjunctions that need more than their intervals: tests, or a subscription that has others."""
        special = np.diff(self.test_offsets) > 0
        special[self.simple :] = True
        return special.astype(np.int8)

    def arrays(self) -> Arrays:
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "simple"}
        return {**named, "simple": np.array([self.simple], np.int64)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Conjuncts:
        named = {f.name: arrays[f.name] for f in fields(cls) if f.name != "simple"}
        return cls(simple=int(arrays["simple"][0]), **named)
