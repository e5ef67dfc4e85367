"""Messages out of what kernels have written: of several edges in order of the changes, or one to each address."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.joins.index.messages import Messages, Operation
from tamis.joins.index.outbox import Outbox
from tamis.joins.index.ranges import Floats, Integers, Mask


def collected(
    outboxes: Sequence[Outbox], values: Sequence[Floats], sequence: int, *, one_to_each: bool = False
) -> Messages:
    """What is in the outboxes, change by change, in each change the first outbox first.

    `values` are those of the tables' rows; `sequence` the number of the first change. With `one_to_each` all that goes
    to one address because of one change is one message.
    """
    parts = [outbox.filled() for outbox in outboxes if len(outbox)] or [Outbox(1).filled()]
    event, form, group, subscription = (
        np.concatenate([part.messages[name] for part in parts]) for name in ("event", "form", "group", "subscription")
    )
    operation, table, row = (
        np.concatenate([part.tuples[name] for part in parts]) for name in ("operation", "table", "row")
    )
    first_tuple = _chained([np.append(part.messages["first_tuple"], len(part.tuples)) for part in parts])
    first_number = _chained([np.append(part.messages["first_number"], len(part.numbers)) for part in parts])
    numbers = np.concatenate([part.numbers for part in parts])
    if one_to_each or len(parts) > 1:
        keys = (np.arange(len(event)), subscription, event) if one_to_each else (np.arange(len(event)), event)
        order = np.lexsort(keys)
        event, form, group, subscription = (part[order] for part in (event, form, group, subscription))
        moved, first_tuple = _moved(first_tuple, order)
        operation, table, row = operation[moved], table[moved], row[moved]
        moved, first_number = _moved(first_number, order)
        numbers = numbers[moved]
    if one_to_each:
        first = _first_of_each(event, subscription)
        event, form, group, subscription = (part[first] for part in (event, form, group, subscription))
        ends = np.append(first, True)
        first_tuple, first_number = first_tuple[ends], first_number[ends]
    # The row of a DROP is another table's.
    named = np.where(operation == Operation.DROP, 0, row)
    first_value, chosen = _values(table, named, values)
    return Messages(
        event=event, sequence=sequence + event, form=form, group=group, subscription=subscription,
        first_tuple=first_tuple, operation=operation, table=table, row=row, first_value=first_value, values=chosen,
        first_number=first_number, numbers=numbers,
    )  # fmt: skip


def _chained(firsts: Sequence[Integers]) -> Integers:
    """Offsets of parts that stand one after the other."""
    lengths = np.concatenate([np.diff(first) for first in firsts])
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _moved(first: Integers, order: Integers) -> tuple[Integers, Integers]:
    """Where what belongs to things in another order stands now, and the offsets it will have."""
    lengths = np.diff(first)[order]
    moved = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.repeat(first[:-1][order] - moved[:-1], lengths) + np.arange(moved[-1]), moved


def _first_of_each(event: Integers, subscription: Integers) -> Mask:
    first = np.ones(len(event), np.bool_)
    first[1:] = (event[1:] != event[:-1]) | (subscription[1:] != subscription[:-1])
    return first


def _values(table: Integers, row: Integers, values: Sequence[Floats]) -> tuple[Integers, Floats]:
    """The selection attributes of tuples one after the other, and where each begins."""
    widths = np.array([columns.shape[1] for columns in values], np.int64)
    first = np.concatenate([[0], np.cumsum(widths[table])]).astype(np.int64)
    flat = np.empty(first[-1])
    for number, columns in enumerate(values):
        here = np.flatnonzero(table == number)
        flat[first[here][:, None] + np.arange(widths[number])] = columns[row[here]]
    return first, flat
