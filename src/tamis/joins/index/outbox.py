"""Outbox of join messages: growing arrays that kernels write to, until the messages are collected."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import Floats, Int64s
from tamis.compiled import inlined_kernel
from tamis.joins.index.ranges import Records

# Kernels that write messages one after the other into arrays that may turn out too small. Arrays are `Sending`.

SENT, TUPLES, NUMBERS, FULL = range(4)


MESSAGE = np.dtype([(name, "i8") for name in ("event", "form", "group", "subscription", "first_tuple", "first_number")])
TUPLE = np.dtype([(name, "i8") for name in ("operation", "table", "row")])


class Sending(NamedTuple):
    """Arrays of an outbox, for kernels: those of `Messages`, with room at the end.

    `counters` says how much of each is used, and in FULL if something did not fit. A writer finishes a change first and
    looks then: a change that does not fit is taken back as a whole.
    """

    messages: Records
    tuples: Records
    numbers: Floats
    counters: Int64s


@inlined_kernel
def begin(out: Any, event: int, form: int, group: int, subscription: int) -> None:
    """Begins a new message: what is put in from now on is its own."""
    here = out.counters[SENT]
    if here >= len(out.messages):
        out.counters[FULL] = 1
        return
    out.messages[here].event = event
    out.messages[here].form = form
    out.messages[here].group = group
    out.messages[here].subscription = subscription
    out.messages[here].first_tuple = out.counters[TUPLES]
    out.messages[here].first_number = out.counters[NUMBERS]
    out.counters[SENT] = here + 1


@inlined_kernel
def put_tuple(out: Any, operation: int, table: int, row: int) -> None:
    """Appends a tuple to the message."""
    here = out.counters[TUPLES]
    if here >= len(out.tuples):
        out.counters[FULL] = 1
        return
    out.tuples[here].operation = operation
    out.tuples[here].table = table
    out.tuples[here].row = row
    out.counters[TUPLES] = here + 1


@inlined_kernel
def put_pair(out: Any, operation: int, table: int, row: int, other: int, joined: int) -> None:
    """Appends a result of two tables: a row of each, the lower table first."""
    here = out.counters[TUPLES]
    if here + 1 >= len(out.tuples):
        out.counters[FULL] = 1
        return
    first = here if table < other else here + 1
    second = here + 1 if table < other else here
    out.tuples[first].operation = operation
    out.tuples[first].table = table
    out.tuples[first].row = row
    out.tuples[second].operation = operation
    out.tuples[second].table = other
    out.tuples[second].row = joined
    out.counters[TUPLES] = here + 2


@inlined_kernel
def put_number(out: Any, number: float) -> None:
    """Appends a number to the message's description."""
    here = out.counters[NUMBERS]
    if here >= len(out.numbers):
        out.counters[FULL] = 1
        return
    out.numbers[here] = number
    out.counters[NUMBERS] = here + 1


@inlined_kernel
def take_back(out: Any, sent: int, tuples: int, numbers: int) -> None:
    """Truncates the outbox to so many messages, tuples and numbers."""
    out.counters[SENT] = sent
    out.counters[TUPLES] = tuples
    out.counters[NUMBERS] = numbers


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
        """Begins a new message, from Python; what is written after it is its own."""
        while self.arrays.counters[SENT] == len(self.arrays.messages):
            self.grow()
        out = self.arrays
        sent, tuples, numbers = (int(out.counters[which]) for which in (SENT, TUPLES, NUMBERS))
        out.messages[sent] = (event, form, group, subscription, tuples, numbers)
        out.counters[SENT] = sent + 1

    def write_tuples(self, operation: int, tables: Int64s, rows: Int64s) -> None:
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
        """Used part of an array."""
        out = self.arrays
        sent, tuples, numbers = (int(out.counters[which]) for which in (SENT, TUPLES, NUMBERS))
        messages, part = out.messages[:sent].view(np.recarray), out.tuples[:tuples].view(np.recarray)
        return Sending(messages, part, out.numbers[:numbers], out.counters)


def _arrays(messages: int, tuples: int, numbers: int) -> Sending:
    return Sending(
        np.zeros(messages, MESSAGE).view(np.recarray), np.zeros(tuples, TUPLE).view(np.recarray), np.zeros(numbers),
        np.zeros(4, np.int64),
    )  # fmt: skip
