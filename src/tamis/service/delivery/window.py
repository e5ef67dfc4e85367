"""Window of a subscription that is pushed to: which notifications are out, and how far all of them are acknowledged."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection


class Window:
    """Positions above a cursor. The cursor passes a position once that and everything before it is acknowledged.

    Of calls made in parallel a later one may be acknowledged first. Its positions are remembered until the cursor has
    passed them, so that they are not sent again where those before them have to be.
    """

    def __init__(self, cursor: int) -> None:
        self.cursor = cursor
        self._taken: deque[int] = deque()
        self._acknowledged: set[int] = set()

    @property
    def first(self) -> int | None:
        """The first position that is taken and not acknowledged; None if there is none."""
        return self._taken[0] if self._taken else None

    @property
    def count(self) -> int:
        """Number of positions that are taken and that the cursor has not passed."""
        return len(self._taken)

    def acknowledged_before(self, position: int) -> int:
        """Number of positions before one that are acknowledged and that the cursor has not passed."""
        return sum(one < position for one in self._acknowledged)

    def take(self, position: int) -> bool:
        """Takes the next position, in order; False if it needs no sending, since it was acknowledged before."""
        if position <= self.cursor:
            return False
        self._taken.append(position)
        if position not in self._acknowledged:
            return True
        self._advance()
        return False

    def acknowledge(self, positions: Collection[int]) -> None:
        """Notes that the subscriber has them."""
        self._acknowledged.update(positions)
        self._advance()

    def rewind(self) -> None:
        """Forgets what is taken: everything after the cursor is taken again, in order."""
        self._taken.clear()
        self._acknowledged = {position for position in self._acknowledged if position > self.cursor}

    def _advance(self) -> None:
        while self._taken and self._taken[0] in self._acknowledged:
            self.cursor = self._taken.popleft()
            self._acknowledged.discard(self.cursor)
