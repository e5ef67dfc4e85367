"""Messages of a join server, in flat arrays for all nine schemes, and the filter by which a subscription accepts them.

Tuples of arrays are `Messages.arrays`, `Ranges.arrays` and `Shape.arrays`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.arrays import Bools, Floats, Int64s
from tamis.compiled import inlined_kernel, kernel
from tamis.joins.index.ranges import Ranges, Shape

NUMBER_BYTES = 4
EVERYBODY = -1


class Form(IntEnum):
    """Form of a message. The first six are for everybody whose filter accepts them, the last two have an address.

    Holding concerns the considered attributes only (`Shape.considered`): a client keeps all that it is sent, and
    applies the rest of its conditions when it joins.
    """

    SELECTED = 0
    """Rel-Sel. Tuples of one table: for all who select one of them. No description."""
    JOINED = 1
    """Ref-J, Ref-J⁺. Whole results, a tuple a table of signature `group`, tables ascending: for its subscriptions that
    select all tuples of one of them. No description."""
    POINTS = 2
    """A semijoin's base tuples, and rows of the filter they join with, described by their considered values: for
    members of `group` that select one of the tuples, and hold one of the points."""
    SKYLINE = 3
    """As POINTS, described by points (x, y) of a skyline: all x, then all y. A point covers an interval with its low
    end at x or below and its high end at y or above; x may be more than y."""
    EXPOSED = 4
    """A tuple of the base that came into reach by a change of the filter. The description has the filter row's
    considered values, then those of its neighbours, any number of them: for members of `group` that select the tuple
    and the filter row, and none of the neighbours."""
    DROPPED = 5
    """A row of the filter is gone (the one tuple, with operation DROP). Described as EXPOSED: members of `group` that
    select that row and none of its neighbours lose all base tuples with its join key."""
    SEMIJOINS = 6
    """Enum-SJ. To one subscription: what its semijoins gain and lose, any number of tuples."""
    RESULTS = 7
    """Enum-J. To one subscription: whole results, a tuple a table of its signature, tables ascending, one result
    after another."""


class Operation(IntEnum):
    """Operation on a tuple of a message."""

    INSERT = 0
    """Keep it, instead of an older version of the same row if there is one."""
    DELETE = 1
    """Forget it, unless a newer version is there (same or higher sequence number)."""
    DROP = 2
    """`row` is of the table that filters `table` for the subscription. Forget all tuples of `table` that agree with it
    on the join attributes: they join nothing any more."""


@dataclass(frozen=True)
class Messages:
    """Messages in the order in which they are sent, as flat arrays.

    Message m comes of change `event[m]` of its batch, which has the number `sequence[m]` in the order of all changes of
    the server. Several messages of one change have the same: a client that has seen a higher one for a row's key
    ignores its tuples. Its tuples are `first_tuple[m]` up to `first_tuple[m + 1]`; each has an operation, a table, a
    row number in it (which names the row's content until the next batch), and `widths[table]` values from `first_value`
    on. Its description is `numbers[first_number[m]:first_number[m + 1]]`. `group` is that of the semijoin, a signature
    in JOINED and RESULTS, else -1. `subscription` is the address, -1 for everybody.

    An update of a row that keeps its join key is one message, the new tuple (INSERT) and the old one (DELETE), with one
    description for both; a client that accepts it keeps the new tuple if it selects it. One that changes the join key
    is two messages of one sequence number, since the descriptions differ; the inserting one comes first.

    A client whose tables R and S filter each other (`Ranges.filtering` names the same edge for both) gets no DROPPED of
    them: the tuples of R that it holds for a join key go when the last tuple of S with that key goes.
    """

    event: Int64s
    sequence: Int64s
    form: Int64s
    group: Int64s
    subscription: Int64s
    first_tuple: Int64s
    operation: Int64s
    table: Int64s
    row: Int64s
    first_value: Int64s
    values: Floats
    first_number: Int64s
    numbers: Floats

    def __len__(self) -> int:
        return len(self.event)

    def tuples(self, message: int) -> slice:
        """Positions of a message's tuples in `operation`, `table`, `row` and `first_value`."""
        return slice(int(self.first_tuple[message]), int(self.first_tuple[message + 1]))

    def description(self, message: int) -> Floats:
        return self.numbers[self.first_number[message] : self.first_number[message + 1]]

    def sizes(self, shape: Shape, payload: int = 100) -> Int64s:
        """Size of each message in bytes, counted as the paper does: four per number, and a tuple's payload.

        An inserted tuple is its selection attributes, its join key and its payload; one that goes is its number. The
        tuples of a joined result share one join key. Addresses are the network's and are not counted.
        """
        widths = np.array(shape.widths, np.int64)
        whole = np.isin(self.form, (Form.JOINED, Form.RESULTS))
        # Tables ascend in a result, so a tuple whose table does not begins the next one, and brings the key.
        begins = np.ones(len(self.table), np.bool_)
        begins[1:] = self.table[1:] <= self.table[:-1]
        begins[self.first_tuple[:-1][np.diff(self.first_tuple) > 0]] = True
        key = begins | ~np.repeat(whole, np.diff(self.first_tuple))
        kept = NUMBER_BYTES * (widths[self.table] + key) + payload
        each = np.where(self.operation == Operation.INSERT, kept, NUMBER_BYTES)
        total = np.concatenate([[0], np.cumsum(each)])
        tuples = total[self.first_tuple[1:]] - total[self.first_tuple[:-1]]
        return (tuples + NUMBER_BYTES * np.diff(self.first_number)).astype(np.int64)

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Arrays for kernels, in their order."""
        return (
            self.form, self.group, self.subscription, self.first_tuple, self.operation, self.table, self.row,
            self.first_value, self.values, self.first_number, self.numbers,
        )  # fmt: skip


def accepts(messages: Messages, message: int, subscriptions: Ranges, shape: Shape) -> Bools:
    """Mask of the subscriptions that a message is for: the filter that each is reformulated to; nothing else counts.

    For messages with an address: the subscription with that number.
    """
    mask = np.zeros(len(subscriptions), np.bool_)
    accepts_one(messages.arrays, message, *subscriptions.arrays, shape.arrays, mask)
    return mask


def accepted_by(messages: Messages, subscriptions: Ranges, number: int, shape: Shape) -> Bools:
    """Mask of the messages for one of the subscriptions: those that its client would be handed."""
    mask = np.zeros(len(messages), np.bool_)
    accepted_by_one(messages.arrays, *subscriptions.arrays, number, shape.arrays, mask)
    return mask


@inlined_kernel
def inside(low: Any, high: Any, subscription: int, column: int, values: Any, first: int, count: int) -> bool:
    """True if so many values, from `first` on, lie in a subscription's intervals, from `column` on."""
    for k in range(count):
        value = values[first + k]
        if not (low[subscription, column + k] <= value <= high[subscription, column + k]):
            return False
    return True


@kernel
def accepted(messages: Any, m: int, low: Any, high: Any, filtering: Any, signature: Any, s: int, shape: Any) -> bool:
    """True if subscription s accepts message m."""
    form, group, address, first_tuple, _, table, _, first_value, values, first_number, numbers = messages
    groups, first_column, considered = shape
    # Addressed (Enum): the server has decided for whom it is.
    if address[m] >= 0:
        return bool(address[m] == s)
    # Selections and results (Rel-Sel, Ref-J) are decided by their own tuples.
    start, stop = first_tuple[m], first_tuple[m + 1]
    if form[m] == Form.SELECTED:
        base = table[start]
        return filtering[s, base] >= 0 and _selects(
            low, high, s, first_column[base], considered[base], first_value, values, start, stop
        )
    if form[m] == Form.JOINED:
        return signature[s] == group[m] and _selects_result(
            low, high, s, first_column, considered, table, first_value, values, start, stop
        )
    base, column, held_column, wide, held_wide = (
        groups[group[m], 0], groups[group[m], 2], groups[group[m], 3], groups[group[m], 4], groups[group[m], 5]
    )  # fmt: skip
    # A semijoin is for subscriptions that filter its base by this edge and select its tuple; the description, in the
    # filter's attributes, says which of these it concerns.
    if filtering[s, base] != group[m] // 2:
        return False
    if form[m] != Form.DROPPED and not _selects(low, high, s, column, wide, first_value, values, start, stop):
        return False
    here, end = first_number[m], first_number[m + 1]
    # POINTS: one of the points must be held. SKYLINE: one of its corners must be covered. EXPOSED and DROPPED: the
    # filter row must be held and none of its neighbours, for a member that holds one of them joins by it anyway.
    if form[m] == Form.POINTS:
        while here < end:
            if inside(low, high, s, held_column, numbers, here, held_wide):
                return True
            here += held_wide
        return False
    if form[m] == Form.SKYLINE:
        while here < end:
            if _covered(low, high, s, held_column, numbers, here, held_wide):
                return True
            here += 2 * held_wide
        return False
    if not inside(low, high, s, held_column, numbers, here, held_wide):
        return False
    here += held_wide
    while here < end:
        if inside(low, high, s, held_column, numbers, here, held_wide):
            return False
        here += held_wide
    return True


@inlined_kernel
def _covered(low: Any, high: Any, s: int, column: int, numbers: Any, here: int, wide: int) -> bool:
    """True if intervals reach down to the first so many numbers, and up to the next: to the northwest of the point.

    An empty interval reaches nothing, though its ends may lie there.
    """
    for k in range(wide):
        start, stop = low[s, column + k], high[s, column + k]
        if not (start <= numbers[here + k] and numbers[here + wide + k] <= stop and start <= stop):
            return False
    return True


@inlined_kernel
def _selects(
    low: Any, high: Any, s: int, column: int, wide: int, first_value: Any, values: Any, start: int, stop: int
) -> bool:
    for k in range(start, stop):  # noqa: SIM110 (Numba compiles no generators here)
        if inside(low, high, s, column, values, first_value[k], wide):
            return True
    return False


@inlined_kernel
def _selects_result(
    low: Any, high: Any, s: int, first_column: Any, considered: Any, table: Any, first_value: Any, values: Any,
    start: int, stop: int,
) -> bool:  # fmt: skip
    """True if all tuples of a result are selected. Tables ascend in a result, so one begins where they do not."""
    whole = False
    for k in range(start, stop):
        if k > start and table[k] <= table[k - 1]:
            if whole:
                return True
            whole = True
        elif k == start:
            whole = True
        if whole:
            whole = inside(low, high, s, first_column[table[k]], values, first_value[k], considered[table[k]])
    return whole


@kernel
def accepts_one(
    messages: Any, m: int, low: Any, high: Any, filtering: Any, signature: Any, shape: Any, mask: Any
) -> None:
    """Sets `mask[s]` where subscription s accepts message m."""
    for s in range(len(mask)):
        mask[s] = accepted(messages, m, low, high, filtering, signature, s, shape)


@kernel
def accepted_by_one(
    messages: Any, low: Any, high: Any, filtering: Any, signature: Any, s: int, shape: Any, mask: Any
) -> None:
    """Sets `mask[m]` where subscription s accepts message m."""
    for m in range(len(mask)):
        mask[m] = accepted(messages, m, low, high, filtering, signature, s, shape)
