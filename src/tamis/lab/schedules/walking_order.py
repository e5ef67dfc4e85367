"""The order in which subscriptions are walked."""

from __future__ import annotations

import numpy as np

from tamis.operators.schedules.kernels import follow
from tamis.operators.schedules.problem import Integers


class Order:
    """Numbers in a doubly linked list, so that one can be put anywhere or taken out at once.

    `after[n]` and `before[n]` are n's neighbours, -1 at the ends, the second of which is `last`. `listed` and `rank`
    are made when first asked for after a change.
    """

    def __init__(self, numbers: Integers, size: int) -> None:
        self.after = np.full(size, -1, np.int32)
        self.before = np.full(size, -1, np.int32)
        self.after[numbers[:-1]] = numbers[1:]
        self.before[numbers[1:]] = numbers[:-1]
        self._first, self.last = (int(numbers[0]), int(numbers[-1])) if len(numbers) else (-1, -1)
        self._count = len(numbers)
        self._listed: Integers | None = numbers
        self._rank: Integers | None = None

    def insert(self, number: int, after: int | None = None) -> None:
        """Puts a number behind another one: -1 is the front, None the end."""
        left = self.last if after is None else after
        right = self._first if left < 0 else int(self.after[left])
        if number >= len(self.after):
            more = np.full(number - len(self.after) + max(8, len(self.after) // 2), -1, np.int32)
            self.after, self.before = np.concatenate([self.after, more]), np.concatenate([self.before, more])
        self.before[number], self.after[number] = left, right
        self._link(left, number)
        self._link(number, right)
        self._changed(1)

    def remove(self, number: int) -> None:
        self._link(int(self.before[number]), int(self.after[number]))
        self.before[number] = self.after[number] = -1
        self._changed(-1)

    def listed(self) -> Integers:
        """All numbers, first to last."""
        if self._listed is None:
            self._listed = np.empty(self._count, np.int32)
            follow(self.after, self._first, self._listed)
        return self._listed

    def rank(self) -> Integers:
        """Each number's place in the order."""
        if self._rank is None:
            self._rank = np.zeros(len(self.after), np.int32)
            self._rank[self.listed()] = np.arange(self._count, dtype=np.int32)
        return self._rank

    def _link(self, left: int, right: int) -> None:
        if left < 0:
            self._first = right
        else:
            self.after[left] = right
        if right < 0:
            self.last = left
        else:
            self.before[right] = left

    def _changed(self, more: int) -> None:
        self._count += more
        self._listed = self._rank = None
