"""Messages of join schemes as networks see them."""

from __future__ import annotations

import numpy as np

from tamis.joins.index.messages import Messages, Operation
from tamis.joins.index.ranges import Shape
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.lab.networks.regions import Integers, Mask, Post, Regions
from tamis.lab.simulation.kernels import boxes_of
from tamis.lab.simulation.spaces import Space


class PayloadNumbers:
    """A number for the payload of every row that ever was: row numbers are used again, these are not."""

    def __init__(self, shape: Shape) -> None:
        self._numbers: list[Integers] = [np.empty(0, np.int64) for _ in range(shape.tables)]
        self._given = 0

    def loaded(self, table: int, rows: Integers) -> None:
        """Rows of a table are there."""
        numbers = self._numbers[table]
        needed = int(rows.max(initial=-1)) + 1
        if needed > len(numbers):
            self._numbers[table] = numbers = np.concatenate([numbers, np.full(2 * needed - len(numbers), -1, np.int64)])
        numbers[rows] = self._given + np.arange(len(rows))
        self._given += len(rows)

    def follow(self, changes: Changes) -> None:
        """Before the messages of these changes are read."""
        for table in range(len(self._numbers)):
            new = changes.new[(changes.table == table) & (changes.new != NO_ROW)]
            if len(new):
                self.loaded(table, new)

    def of(self, table: Integers, row: Integers) -> Integers:
        found = np.empty(len(row), np.int64)
        for number, numbers in enumerate(self._numbers):
            here = table == number
            found[here] = numbers[row[here]]
        return found


def post_of(
    messages: Messages,
    chosen: Integers,
    shape: Shape,
    space: Space,
    payloads: PayloadNumbers,
    payload_size: int,
    bulky: Mask | None = None,
) -> Post:
    """Chosen messages of one space as a network sees them. A tuple of a bulky table that comes has its payload."""
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


def with_payload(messages: Messages, bulky: Mask | None) -> Mask:
    """Which tuples of messages have a payload: those that come, of tables that are bulky (all if None)."""
    coming: Mask = messages.operation == Operation.INSERT
    return coming if bulky is None else coming & bulky[messages.table]


def sizes_of(messages: Messages, shape: Shape, payload_size: int, bulky: Mask | None) -> Integers:
    """Bytes of messages, with payloads where there are any."""
    before = np.concatenate([[0], np.cumsum(with_payload(messages, bulky))])
    count = before[messages.first_tuple[1:]] - before[messages.first_tuple[:-1]]
    sizes: Integers = messages.sizes(shape, payload=0) + payload_size * count
    return sizes


def regions_of(messages: Messages, chosen: Integers, shape: Shape, space: Space) -> Regions:
    """The filters that subscriptions are reformulated to, as boxes of those that accept a message."""
    tuples, numbers = np.diff(messages.first_tuple)[chosen], np.diff(messages.first_number)[chosen]
    addressed = messages.subscription[chosen] >= 0
    most = int(np.where(addressed, 0, tuples * np.maximum(1, numbers)).sum()) + 1
    dimensions = space.points.shape[1]
    first = np.zeros(len(chosen) + 1, np.int64)
    low, high = np.empty((most, dimensions)), np.empty((most, dimensions))
    count = boxes_of(messages.arrays, shape.group_numbers, space.dimension, chosen, first, low, high)
    return Regions(first, low[:count], high[:count])
