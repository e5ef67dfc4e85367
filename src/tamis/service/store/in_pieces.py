"""Long lists of values in pieces that one statement can name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

# SQLite takes 32,766 values in a statement; each number of them is compiled anew, so most pieces are alike.
_AT_ONCE = 1_000


def pieces(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
