"""Messages written by kernels, one after the other, into arrays that may turn out too small. Arrays are `Sending`."""

from __future__ import annotations

from typing import Any, NamedTuple

from tamis.compiled import inlined_kernel
from tamis.joins.ranges import Floats, Integers

SENT, TUPLES, NUMBERS, FULL = range(4)


class Sending(NamedTuple):
    """The arrays of an outbox, for kernels: those of `Messages`, with room at the end.

    `counters` says how much of each is used, and in FULL whether something did not fit. Who writes finishes a change
    first and looks then: what was written of a change that does not fit is taken back as a whole.
    """

    event: Integers
    form: Integers
    group: Integers
    subscription: Integers
    first_tuple: Integers
    first_number: Integers
    operation: Integers
    table: Integers
    row: Integers
    numbers: Floats
    counters: Integers


@inlined_kernel
def begin(out: Any, event: int, form: int, group: int, subscription: int) -> None:
    """A new message: what is put in from now on is its own."""
    here = out.counters[SENT]
    if here >= len(out.event):
        out.counters[FULL] = 1
        return
    out.event[here] = event
    out.form[here] = form
    out.group[here] = group
    out.subscription[here] = subscription
    out.first_tuple[here] = out.counters[TUPLES]
    out.first_number[here] = out.counters[NUMBERS]
    out.counters[SENT] = here + 1


@inlined_kernel
def put_tuple(out: Any, operation: int, table: int, row: int) -> None:
    here = out.counters[TUPLES]
    if here >= len(out.row):
        out.counters[FULL] = 1
        return
    out.operation[here] = operation
    out.table[here] = table
    out.row[here] = row
    out.counters[TUPLES] = here + 1


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
