"""An outbox: what kernels write, and the messages it comes to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.joins.ranges import Floats, Integers
from tamis.joins.sending.kernels import FULL, NUMBERS, SENT, TUPLES, Sending


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
        self.arrays = new = _arrays(2 * len(old.event), 2 * len(old.row), 2 * len(old.numbers))
        for name in Sending._fields[:-1]:
            before = getattr(old, name)
            getattr(new, name)[: len(before)] = before
        new.counters[:] = old.counters
        new.counters[FULL] = 0

    def ends(self) -> tuple[Integers, Integers]:
        """`first_tuple` and `first_number` with one entry more, for the end."""
        out = self.arrays
        sent = int(out.counters[SENT])
        return (
            np.append(out.first_tuple[:sent], out.counters[TUPLES]),
            np.append(out.first_number[:sent], out.counters[NUMBERS]),
        )


def values_of(table: Integers, row: Integers, values: Sequence[Floats]) -> tuple[Integers, Floats]:
    """The selection attributes of tuples one after the other, and where each begins; `values` by table, rows first."""
    widths = np.array([columns.shape[1] for columns in values], np.int64)
    first = np.concatenate([[0], np.cumsum(widths[table])]).astype(np.int64)
    if len(values) and (widths == widths[0]).all():
        # One width: a matrix, filled table by table.
        wide = np.empty((len(table), widths[0]))
        for number, columns in enumerate(values):
            here = table == number
            wide[here] = columns[row[here]]
        return first, wide.reshape(-1)
    flat = np.empty(first[-1])
    for number, columns in enumerate(values):
        here = np.flatnonzero(table == number)
        flat[first[here][:, None] + np.arange(widths[number])] = columns[row[here]]
    return first, flat


def _arrays(messages: int, tuples: int, numbers: int) -> Sending:
    def integers(count: int) -> Integers:
        return np.zeros(count, np.int64)

    return Sending(
        event=integers(messages), form=integers(messages), group=integers(messages), subscription=integers(messages),
        first_tuple=integers(messages), first_number=integers(messages), operation=integers(tuples),
        table=integers(tuples), row=integers(tuples), numbers=np.zeros(numbers), counters=integers(4),
    )  # fmt: skip
