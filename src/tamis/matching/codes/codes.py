"""Codes: what a value becomes before it is compared.

Every constant that the subscriptions of a level compare an attribute with has a rank r among that attribute's
constants, and the code 2r + 1; a value between two constants has the even code between theirs. So every comparison
of the language is `low <= code <= high` over int32, exactly, and an absent attribute fails each of them by itself.
"""

from __future__ import annotations

import numpy as np

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
