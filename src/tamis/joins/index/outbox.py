"""An outbox: what kernels write, until it is collected."""

from __future__ import annotations

import numpy as np

from tamis.joins.index.ranges import Floats, Integers
from tamis.joins.index.sending_kernels import FULL, MESSAGE, NUMBERS, SENT, TUPLE, TUPLES, Sending


class Outbox:
    """Room for the messages of one batch of changes. Kernels fill `arrays` and stop when they are full.

    `grow` makes all of them twice as large and keeps what is there; `clear` forgets it and keeps the room.
    """

    def __init__(self, room: int = 1 << 12) -> None:
        self.arrays = _arrays(room, room, 4 * room)

    def __len__(self) -> int:
        return int(self.arrays.counters[SENT])

    def clear(self) -> None:
        self.arrays.counters[:] = 0

    def grow(self) -> None:
        old = self.arrays
        self.arrays = new = _arrays(2 * len(old.messages), 2 * len(old.tuples), 2 * len(old.numbers))
        new.messages[: len(old.messages)] = old.messages
        new.tuples[: len(old.tuples)] = old.tuples
        new.numbers[: len(old.numbers)] = old.numbers
        new.counters[:] = old.counters
        new.counters[FULL] = 0

    def write(self, event: int, form: int, group: int, subscription: int) -> None:
        """A new message, from Python; what is written after it is its own."""
        while self.arrays.counters[SENT] == len(self.arrays.messages):
            self.grow()
        out = self.arrays
        sent, tuples, numbers = (int(out.counters[which]) for which in (SENT, TUPLES, NUMBERS))
        out.messages[sent] = (event, form, group, subscription, tuples, numbers)
        out.counters[SENT] = sent + 1

    def write_tuples(self, operation: int, tables: Integers, rows: Integers) -> None:
        while self.arrays.counters[TUPLES] + len(rows) > len(self.arrays.tuples):
            self.grow()
        out = self.arrays
        start = int(out.counters[TUPLES])
        part = out.tuples[start : start + len(rows)]
        part["operation"], part["table"], part["row"] = operation, tables, rows
        out.counters[TUPLES] = start + len(rows)

    def write_numbers(self, numbers: Floats) -> None:
        while self.arrays.counters[NUMBERS] + len(numbers) > len(self.arrays.numbers):
            self.grow()
        out = self.arrays
        start = int(out.counters[NUMBERS])
        out.numbers[start : start + len(numbers)] = numbers
        out.counters[NUMBERS] = start + len(numbers)

    def filled(self) -> Sending:
        """What is used of it."""
        out = self.arrays
        sent, tuples, numbers = (int(out.counters[which]) for which in (SENT, TUPLES, NUMBERS))
        messages, part = out.messages[:sent].view(np.recarray), out.tuples[:tuples].view(np.recarray)
        return Sending(messages, part, out.numbers[:numbers], out.counters)


def _arrays(messages: int, tuples: int, numbers: int) -> Sending:
    return Sending(
        np.zeros(messages, MESSAGE).view(np.recarray), np.zeros(tuples, TUPLE).view(np.recarray), np.zeros(numbers),
        np.zeros(4, np.int64),
    )  # fmt: skip
