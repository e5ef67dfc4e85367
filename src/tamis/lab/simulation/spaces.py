"""Spaces of subscriptions that share a network, and join messages encoded for them: regions of boxes, payload numbers,
and sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.arrays import Bools, Floats, Int64s
from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.index.messages import Form, Messages, Operation
from tamis.joins.index.ranges import Ranges, Shape
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.lab.networks.links import Post, Regions

# Kernels: distances in a graph, and messages of schemes as boxes.


@bare_kernel
def hops_from(first: Any, neighbour: Any, start: int, hops: Any, queue: Any) -> None:
    """Hops from one node of a graph to each; -1 where there is no path."""
    hops[:] = -1
    hops[start] = 0
    queue[0] = start
    done, known = 0, 1
    while done < known:
        node = queue[done]
        done += 1
        for k in range(first[node], first[node + 1]):
            other = neighbour[k]
            if hops[other] < 0:
                hops[other] = hops[node] + 1
                queue[known] = other
                known += 1


@inlined_kernel
def _everything(low: Any, high: Any, box: int) -> None:
    low[box, :] = -np.inf
    high[box, :] = np.inf


@inlined_kernel
def _reach(low: Any, high: Any, box: int, dimension: int, start: float, stop: float) -> None:
    """Restricts a box to ranges with their low end at `start` or below, and their high end at `stop` or above."""
    high[box, dimension] = min(high[box, dimension], start)
    low[box, dimension + 1] = max(low[box, dimension + 1], stop)


@inlined_kernel
def _alone(low: Any, high: Any, box: int, dimension: int, numbers: Any, here: int, end: int) -> bool:
    """Restricts a box to ranges that hold the first of the numbers and none of the others; False if there can be
    none."""
    value = numbers[here]
    _reach(low, high, box, dimension, value, value)
    for k in range(here + 1, end):
        other = numbers[k]
        if other == value:
            return False
        if other < value:
            low[box, dimension] = max(low[box, dimension], np.nextafter(other, np.inf))
        else:
            high[box, dimension + 1] = min(high[box, dimension + 1], np.nextafter(other, -np.inf))
    return True


@bare_kernel
def boxes_of(messages: Any, groups: Any, dimension: Any, chosen: Any, first: Any, low: Any, high: Any) -> int:
    """Writes the filters of chosen messages as boxes; returns the number of boxes.

    `messages` are `Messages.arrays`. `dimension[t]` is where the ends of table t's ranges stand in the space. Boxes of
    the k-th chosen message begin at `first[k]`. Messages with an address have none.
    """
    form, group, address, first_tuple, operation, table, _, first_value, values, first_number, numbers = messages
    box = 0
    for k in range(len(chosen)):
        m = chosen[k]
        first[k] = box
        if address[m] >= 0:
            continue
        start, stop, here, end = first_tuple[m], first_tuple[m + 1], first_number[m], first_number[m + 1]
        # A joined row: one box for each row of the message, in which the ranges on every table hold its
        # value.
        if form[m] == Form.JOINED:
            for t in range(start, stop):
                if t == start or table[t] <= table[t - 1]:
                    _everything(low, high, box)
                    box += 1
                value = values[first_value[t]]
                _reach(low, high, box - 1, dimension[table[t]], value, value)
            continue
        # A dropped neighbour: ranges that hold the number that left and none of those that remain.
        if form[m] == Form.DROPPED:
            _everything(low, high, box)
            if _alone(low, high, box, dimension[groups[group[m], 1]], numbers, here, end):
                box += 1
            continue
        for t in range(start, stop):
            if operation[t] == Operation.DROP:
                continue
            value = values[first_value[t]]
            if form[m] == Form.SELECTED:
                _everything(low, high, box)
                _reach(low, high, box, dimension[table[t]], value, value)
                box += 1
                continue
            # Semijoins: ranges on the tuple's own table hold its value, and ranges on the other table are
            # described by the message's numbers.
            filtering = dimension[groups[group[m], 1]]
            if form[m] == Form.EXPOSED:
                _everything(low, high, box)
                _reach(low, high, box, dimension[table[t]], value, value)
                if _alone(low, high, box, filtering, numbers, here, end):
                    box += 1
                continue
            step = 2 if form[m] == Form.SKYLINE else 1
            for n in range(here, end, step):
                _everything(low, high, box)
                _reach(low, high, box, dimension[table[t]], value, value)
                _reach(low, high, box, filtering, numbers[n], numbers[n + step - 1])
                box += 1
    first[len(chosen)] = box
    return box


NO_DIMENSION = -1


@dataclass(frozen=True)
class Space:
    """Space of the subscriptions that messages of one kind may be for, as points: the ends of their ranges.

    `dimension[t]` is where the ends of table t's range stand, NO_DIMENSION if the space has not that table. Points of
    all subscriptions are there, by number; those that are not `members` are for no message of the space.
    """

    dimension: Int64s
    points: Floats
    members: Bools


class Spaces:
    """Spaces of a shape: one for the semijoins of each group, for each signature, and for each table.

    Those with the same tables and the same members are one. Where there is one edge only, all are: a subscription is a
    point of four dimensions then (App. D). Every table has one attribute that descriptions speak of; others are left to
    clients.
    """

    def __init__(self, shape: Shape, subscriptions: Ranges) -> None:
        if any(considered != 1 for considered in shape.considered):
            raise ValueError("networks route by one attribute a table; leave the others to the clients")
        self.shape = shape
        self.count = len(subscriptions)
        self.spaces: list[Space] = []
        self._ranges = subscriptions
        self._known: dict[tuple[tuple[int, ...], bytes], int] = {}
        self._of_form: dict[tuple[int, int], int] = {}

    def of(self, messages: Messages) -> Int64s:
        """Space of each message, by number; those with an address have the space of their group."""
        tables = np.append(messages.table, 0)[messages.first_tuple[:-1]]
        selected = messages.form == Form.SELECTED
        of_what = np.where(selected, tables, messages.group)
        kind = np.where(
            selected,
            Form.SELECTED,
            np.where(np.isin(messages.form, (Form.JOINED, Form.RESULTS)), Form.JOINED, Form.POINTS),
        )
        found: Int64s = np.empty(len(messages), np.int64)
        for form, what in {(int(a), int(b)) for a, b in zip(kind, of_what, strict=True)}:
            found[(kind == form) & (of_what == what)] = self._space(form, what)
        return found

    def _space(self, form: int, what: int) -> int:
        if (form, what) not in self._of_form:
            ranges, shape = self._ranges, self.shape
            if form == Form.SELECTED:
                tables: tuple[int, ...] = (what,)
                members: Bools = ranges.filtering[:, what] >= 0
            elif form == Form.JOINED:
                tables, members = shape.tables_of(what), ranges.signature == what
            else:
                tables, members = tuple(sorted(shape.edges[what // 2])), ranges.members(shape, what)
                # A skyline's point may cover an empty range, which reaches nothing all the same.
                members = members & ~self._empty(shape.filter(what))
            if len(shape.edges) == 1:
                tables = tuple(range(shape.tables))
            self._of_form[form, what] = self._made(tables, members)
        return self._of_form[form, what]

    def _empty(self, table: int) -> Bools:
        column = int(self.shape.first_column[table])
        mask: Bools = self._ranges.low[:, column] > self._ranges.high[:, column]
        return mask

    def _made(self, tables: tuple[int, ...], members: Bools) -> int:
        columns = [int(self.shape.first_column[table]) for table in tables]
        low, high = self._ranges.low[:, columns], self._ranges.high[:, columns]
        key = (tables, members.tobytes())
        if key not in self._known:
            dimension = np.full(self.shape.tables, NO_DIMENSION, np.int64)
            dimension[list(tables)] = 2 * np.arange(len(tables))
            points = np.stack([low, high], axis=2).reshape(self.count, 2 * len(tables))
            self._known[key] = len(self.spaces)
            self.spaces.append(Space(dimension, points, members))
        return self._known[key]


# Messages of join schemes as networks see them: regions, sizes and payloads.


class PayloadNumbers:
    """Unique number for the payload of every row that ever was; row numbers are reused, these are not."""

    def __init__(self, shape: Shape) -> None:
        self._numbers: list[Int64s] = [np.empty(0, np.int64) for _ in range(shape.tables)]
        self._given = 0

    def loaded(self, table: int, rows: Int64s) -> None:
        """Numbers the initial rows of a table."""
        numbers = self._numbers[table]
        needed = int(rows.max(initial=-1)) + 1
        if needed > len(numbers):
            self._numbers[table] = numbers = np.concatenate([numbers, np.full(2 * needed - len(numbers), -1, np.int64)])
        numbers[rows] = self._given + np.arange(len(rows))
        self._given += len(rows)

    def follow(self, changes: Changes) -> None:
        """Numbers the rows of changes, before their messages are read."""
        for table in range(len(self._numbers)):
            new = changes.new[(changes.table == table) & (changes.new != NO_ROW)]
            if len(new):
                self.loaded(table, new)

    def of(self, table: Int64s, row: Int64s) -> Int64s:
        found = np.empty(len(row), np.int64)
        for number, numbers in enumerate(self._numbers):
            here = table == number
            found[here] = numbers[row[here]]
        return found


def post_of(
    messages: Messages,
    chosen: Int64s,
    shape: Shape,
    space: Space,
    payloads: PayloadNumbers,
    payload_size: int,
    bulky: Bools | None = None,
) -> Post:
    """Messages of one space, chosen, as a network sees them. An added tuple of a bulky table has its payload."""
    regions = regions_of(messages, chosen, shape, space)
    sizes = messages.sizes(shape, payload=0)[chosen]
    counts = np.diff(messages.first_tuple)[chosen]
    owner = np.repeat(np.arange(len(chosen)), counts)
    tuples = np.repeat(messages.first_tuple[:-1][chosen] - np.cumsum(counts) + counts, counts) + np.arange(len(owner))
    coming = with_payload(messages, bulky)[tuples]
    tuples, owner = tuples[coming], owner[coming]
    first = np.searchsorted(owner, np.arange(len(chosen) + 1)).astype(np.int64)
    numbers = payloads.of(messages.table[tuples], messages.row[tuples])
    return Post(regions, messages.subscription[chosen], sizes, first, numbers, payload_size)


def with_payload(messages: Messages, bulky: Bools | None) -> Bools:
    """Mask of the messages with a payload: added tuples of tables that are bulky (all if None)."""
    coming: Bools = messages.operation == Operation.INSERT
    return coming if bulky is None else coming & bulky[messages.table]


def sizes_of(messages: Messages, shape: Shape, payload_size: int, bulky: Bools | None) -> Int64s:
    """Bytes of messages, with payloads where there are any."""
    before = np.concatenate([[0], np.cumsum(with_payload(messages, bulky))])
    count = before[messages.first_tuple[1:]] - before[messages.first_tuple[:-1]]
    sizes: Int64s = messages.sizes(shape, payload=0) + payload_size * count
    return sizes


def regions_of(messages: Messages, chosen: Int64s, shape: Shape, space: Space) -> Regions:
    """Regions of messages: the reformulated filters, as boxes of the subscriptions that accept a message."""
    tuples, numbers = np.diff(messages.first_tuple)[chosen], np.diff(messages.first_number)[chosen]
    addressed = messages.subscription[chosen] >= 0
    most = int(np.where(addressed, 0, tuples * np.maximum(1, numbers)).sum()) + 1
    dimensions = space.points.shape[1]
    first = np.zeros(len(chosen) + 1, np.int64)
    low, high = np.empty((most, dimensions)), np.empty((most, dimensions))
    count = boxes_of(messages.arrays, shape.group_numbers, space.dimension, chosen, first, low, high)
    return Regions(first, low[:count], high[:count])
