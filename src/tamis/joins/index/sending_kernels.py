"""Messages written by kernels, one after the other, into arrays that may turn out too small. Arrays are `Sending`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.compiled import inlined_kernel
from tamis.joins.index.ranges import Floats, Integers, Records

SENT, TUPLES, NUMBERS, FULL = range(4)


MESSAGE = np.dtype([(name, "i8") for name in ("event", "form", "group", "subscription", "first_tuple", "first_number")])
TUPLE = np.dtype([(name, "i8") for name in ("operation", "table", "row")])


class Sending(NamedTuple):
    """The arrays of an outbox, for kernels: what `Messages` has, with room at the end.

    `counters` says how much of each is used, and in FULL whether something did not fit. Who writes finishes a change
    first and looks then: what was written of a change that does not fit is taken back as a whole.
    """

    messages: Records
    tuples: Records
    numbers: Floats
    counters: Integers


@inlined_kernel
def begin(out: Any, event: int, form: int, group: int, subscription: int) -> None:
    """A new message: what is put in from now on is its own."""
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
    """A result of two tables: a row of each, the lower table first."""
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
    here = out.counters[NUMBERS]
    if here >= len(out.numbers):
        out.counters[FULL] = 1
        return
    out.numbers[here] = number
    out.counters[NUMBERS] = here + 1


@inlined_kernel
def take_back(out: Any, sent: int, tuples: int, numbers: int) -> None:
    """Forgets everything after so many messages, tuples and numbers."""
    out.counters[SENT] = sent
    out.counters[TUPLES] = tuples
    out.counters[NUMBERS] = numbers
