"""Abstract base classes of join schemes (`Scheme`, and `ByEdges` for edge by edge), registry of the nine, and messages
collected in order of changes. Sections are those of Chandramouli & Yang 2008.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from tamis.arrays import Bools, Floats, Int64s
from tamis.joins.index.edge import EdgeState, JoinState
from tamis.joins.index.messages import Messages, Operation
from tamis.joins.index.outbox import Outbox
from tamis.joins.index.ranges import NOT_THERE, Ranges, Shape
from tamis.joins.index.tables import Changes
from tamis.lazy_registry import LazyRegistry


class Scheme(ABC):
    """Protocol by which a server tells clients how joins change: keeps tables and subscriptions, returns messages.

    Rows are put into `state.rows` and named in `Changes`; `change` gives the messages and leaves the tables changed.
    All schemes take equal changes and leave every client with equal content.
    """

    name: ClassVar[str]
    edge: ClassVar[type[EdgeState]] = EdgeState
    """State that a scheme keeps of each edge."""

    def __init__(self, shape: Shape) -> None:
        self.state = JoinState(shape, self.edge)

    def subscribe(self, ranges: Ranges) -> Int64s:
        """Adds subscriptions and returns their numbers, by which messages and `unsubscribe` know them."""
        return self.state.subscribe(ranges)

    def unsubscribe(self, numbers: npt.ArrayLike) -> None:
        self.state.unsubscribe(numbers)

    @abstractmethod
    def change(self, changes: Changes) -> Messages:
        """Messages for these changes, which are made one after the other."""

    def follow(self, changes: Changes) -> None:
        """Changes the tables without sending messages."""
        self.change(changes)


SCHEMES: Final[LazyRegistry[type[Scheme]]] = LazyRegistry(
    {
        "rel-sel": "tamis.joins.schemes.by_tuples:RelSel",
        "enum-j": "tamis.joins.schemes.by_results:EnumJ",
        "ref-j": "tamis.joins.schemes.by_results:RefJ",
        "ref-j+": "tamis.joins.schemes.by_results:RefJPlus",
        "enum-sj": "tamis.joins.schemes.by_tuples:EnumSJ",
        "ref-sj-sub": "tamis.joins.schemes.by_tuples:RefSJSub",
        "ref-sj-tup": "tamis.joins.schemes.by_tuples:RefSJTup",
        "ref-sj-clu": "tamis.joins.schemes.by_tuples:RefSJClu",
        "ref-sj-clu+": "tamis.joins.schemes.by_tuples:RefSJCluPlus",
    }
)
"""Schemes by name. Each is loaded, and its kernels are compiled, when it is first asked for."""


# Collection of messages from the outboxes: of several edges in order of the changes, or one to each address.


def collected(
    outboxes: Sequence[Outbox], values: Sequence[Floats], sequence: int, *, one_to_each: bool = False
) -> Messages:
    """Messages of the outboxes, change by change, in each change the first outbox first.

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


def _chained(firsts: Sequence[Int64s]) -> Int64s:
    """Offsets of parts that stand one after the other."""
    lengths = np.concatenate([np.diff(first) for first in firsts])
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _moved(first: Int64s, order: Int64s) -> tuple[Int64s, Int64s]:
    """Positions of parts of things put in another order, and their new offsets."""
    lengths = np.diff(first)[order]
    moved = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.repeat(first[:-1][order] - moved[:-1], lengths) + np.arange(moved[-1]), moved


def _first_of_each(event: Int64s, subscription: Int64s) -> Bools:
    first = np.ones(len(event), np.bool_)
    first[1:] = (event[1:] != event[:-1]) | (subscription[1:] != subscription[:-1])
    return first


def _values(table: Int64s, row: Int64s, values: Sequence[Floats]) -> tuple[Int64s, Floats]:
    """Selection attributes of tuples one after the other, and where each begins."""
    widths = np.array([columns.shape[1] for columns in values], np.int64)
    first = np.concatenate([[0], np.cumsum(widths[table])]).astype(np.int64)
    flat = np.empty(first[-1])
    for number, columns in enumerate(values):
        here = np.flatnonzero(table == number)
        flat[first[here][:, None] + np.arange(widths[number])] = columns[row[here]]
    return first, flat


# Schemes that go through the changes edge by edge.


class ByEdges(Scheme):
    """Base of schemes that go through the changes edge by edge: no edge needs to know of another.

    `kernel` writes the messages of changes on one edge, and has it follow them. Each scheme has its own, so that only
    the one in use is compiled. With `one_to_each` all that a change means to a subscription is one message.
    """

    kernel: ClassVar[Any]
    one_to_each: ClassVar[bool] = False

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self._outboxes = [Outbox() for _ in shape.edges]

    def change(self, changes: Changes) -> Messages:
        sequence = self.state.begin(changes)
        for edge, out in zip(self.state.edges, self._outboxes, strict=True):
            out.clear()
            edge.run(self.kernel, out, changes, self.state.members(self._signature(edge.number)))
        values = [rows.values for rows in self.state.rows]
        return collected(self._outboxes, values, sequence, one_to_each=self.one_to_each)

    def one_by_one(self, changes: Changes, write: Callable[[Outbox, Changes, int], None]) -> Messages:
        """Writes each change, then follows it: for schemes that look at several edges at a time."""
        sequence, out = self.state.begin(changes), Outbox()
        for event in range(len(changes)):
            write(out, changes, event)
            for edge in self.state.edges:
                edge.follow(changes, event, event + 1)
        values = [rows.values for rows in self.state.rows]
        return collected([out], values, sequence, one_to_each=self.one_to_each)

    def _signature(self, edge: int) -> int:
        """Signature of an edge alone."""
        signatures = self.state.shape.signatures
        return signatures.index((edge,)) if (edge,) in signatures else NOT_THERE
