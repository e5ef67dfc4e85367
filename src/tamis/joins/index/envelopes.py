"""Skyline envelopes: descriptions of semijoin messages over one or several selection attributes per table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from tamis.arrays import Bools, Floats, Int64s
from tamis.compiled import bare_kernel, inlined_kernel, kernel
from tamis.joins.index.edge import JoinState, values_of_key
from tamis.joins.index.kernels import LEAST_ITEM, PLACES, find, is_entry, preceding
from tamis.joins.index.messages import EVERYBODY, Form, Operation
from tamis.joins.index.outbox import Outbox, put_number
from tamis.joins.index.ranges import Ranges
from tamis.joins.index.stabbing_kernels import CLUSTERS, partition, reaching, soon_above
from tamis.joins.index.tables import NO_ROW, Changes

# Skyline envelopes of points, and boxes that contain no other.


@kernel
def envelope(points: Any, order: Any, centre: Any, kept: Any) -> int:
    """Gathers the points before which no other comes, seen from the centre (none in the box of the two). Their number.

    `order` has the nearest first, in whatever measure a box's points are nearer in than its corner. The numbers of
    those kept go to `kept`. Comparing with kept points is enough: a point behind a dropped one is behind the one that
    that was behind.
    """
    count = 0
    width = points.shape[1]
    for candidate in order:
        hidden = False
        for k in range(count):
            hidden = True
            for d in range(width):
                near, far, value = centre[d], points[candidate, d], points[kept[k], d]
                if not (min(near, far) <= value <= max(near, far)):
                    hidden = False
                    break
            if hidden:
                break
        if not hidden:
            kept[count] = candidate
            count += 1
    return count


@kernel
def innermost(low: Any, high: Any, inner: Any) -> None:
    """Sets `inner[k]` where box k contains no other box; of equal ones the first stands for all."""
    for k in range(len(low)):
        inner[k] = True
        for j in range(len(low)):
            if j == k:
                continue
            inside, equal = True, True
            for d in range(low.shape[1]):
                if low[j, d] < low[k, d] or high[j, d] > high[k, d]:
                    inside = False
                    break
                equal = equal and low[j, d] == low[k, d] and high[j, d] == high[k, d]
            if inside and (not equal or j < k):
                inner[k] = False
                break


# Envelopes of rows, and anchors of subscriptions, in the space of a table's considered attributes.


def envelope_of(points: Floats, centre: Floats) -> Floats:
    """Sky(points, centre) of Definition 2: the points with no other in the box between them and the centre."""
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.nan_to_num(np.abs(points - centre), nan=0.0).sum(axis=1)
    kept = np.empty(len(points), np.int64)
    count = envelope(points, np.argsort(distance, kind="stable"), centre, kept)
    return points[kept[:count]]


def innermost_boxes(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Boxes that contain no other of them, each once."""
    inner = np.empty(len(low), np.bool_)
    innermost(low, high, inner)
    return low[inner], high[inner]


def anchors_of(low: Floats, high: Floats) -> Floats:
    """Anchors such that every box holds one of them: greedily along the first attribute, then the next, and so on."""
    there = (low <= high).all(axis=1)
    return np.array(_anchors(low[there], high[there], 0)).reshape(-1, low.shape[1])


def _anchors(low: Floats, high: Floats, column: int) -> list[list[float]]:
    if not len(low):
        return []
    if column == low.shape[1]:
        return [[]]
    start, stop = np.ascontiguousarray(low[:, column]), np.ascontiguousarray(high[:, column])
    clusters: Int64s = np.empty(len(low), np.int64)
    count = partition(start, stop, np.argsort(stop, kind="stable"), clusters, np.empty(len(low)))
    found = []
    for cluster in range(count):
        here = clusters == cluster
        anchor = _finite(float(start[here].max()), float(stop[here].min()))
        found += [[anchor, *rest] for rest in _anchors(low[here], high[here], column + 1)]
    return found


def _finite(low: float, high: float) -> float:
    """A number between two, finite if one of them is or nothing is between."""
    if np.isfinite(high):
        return high
    return low if np.isfinite(low) else max(low, min(0.0, high))


class Description(Enum):
    """Form in which a scheme describes which subscriptions base tuples are for."""

    NONE = "each member is told by itself"
    TUPLES = "all joining tuples"
    CLUSTERS = "the joining tuples beside clusters' anchors"
    MEMBERS = "the affected members themselves"


class EnvelopeWriter:
    """Writer of one scheme's messages for tables of which several attributes are considered.

    All members of a group are looked at for every change: exact, and linear in their number. Skylines by clusters have
    no disposable triangles here, so Clu⁺ is Clu.
    """

    def __init__(self, state: JoinState, description: Description) -> None:
        self._state, self._description = state, description
        self._each = description is Description.NONE
        self._anchors: dict[int, tuple[int, Floats]] = {}

    def write(self, out: Outbox, changes: Changes, event: int) -> None:
        """Writes the messages of one change, before the edges follow it."""
        table = int(changes.table[event])
        for edge in self._state.rows[table].edges:
            old, new = (_joining(self._state, table, edge, int(rows[event])) for rows in (changes.old, changes.new))
            step = _Step(self._state, table, edge, old, new)
            if old != NO_ROW and new != NO_ROW and step.key(old) == step.key(new):
                self._tell(out, event, step, [new, old])
            else:
                for row in (new, old):
                    if row != NO_ROW:
                        self._tell(out, event, step, [row])
            if new != NO_ROW:
                self._expose(out, event, step)
            if old != NO_ROW:
                self._drop(out, event, step)

    def _tell(self, out: Outbox, event: int, step: _Step, rows: list[int]) -> None:
        """Writes the messages of base rows that came and went with one join key."""
        partners = step.values(step.other, step.rows_with(step.other, step.key(rows[0])))
        if not len(partners):
            return
        group, ranges = step.group(step.table), self._state.subscriptions
        operations = [Operation.INSERT if row == step.new else Operation.DELETE for row in rows]
        members = np.flatnonzero(ranges.members(self._state.shape, group))
        if self._each or self._description is Description.MEMBERS:
            selecting = np.zeros(len(members), np.bool_)
            for row in rows:
                selecting |= step.inside(ranges, members, step.table, step.values(step.table, np.array([row]))[0])
            members = members[selecting]
            members = members[step.inside_any(ranges, members, step.other, partners)]
        if self._each:
            for member in members:
                out.write(event, Form.SEMIJOINS, group, int(member))
                for operation, row in zip(operations, rows, strict=True):
                    out.write_tuples(operation, np.array([step.table]), np.array([row]))
            return
        form, numbers = self._described(step, group, members, np.unique(partners, axis=0))
        if not len(numbers):
            return
        out.write(event, form, group, EVERYBODY)
        for operation, row in zip(operations, rows, strict=True):
            out.write_tuples(operation, np.array([step.table]), np.array([row]))
        out.write_numbers(numbers)

    def _described(self, step: _Step, group: int, members: Int64s, partners: Floats) -> tuple[Form, Floats]:
        if self._description is Description.TUPLES:
            return Form.POINTS, partners.ravel()
        low, high = step.box(self._state.subscriptions, members, step.other)
        if self._description is Description.MEMBERS:
            return Form.SKYLINE, np.hstack(innermost_boxes(low, high)).ravel()
        version = self._state.edges[step.edge].version(group % 2)
        if group not in self._anchors or self._anchors[group][0] != version:
            self._anchors[group] = version, anchors_of(low, high)
        envelopes = [envelope_of(partners, anchor) for anchor in self._anchors[group][1]]
        if not envelopes:
            return Form.POINTS, np.empty(0)
        return Form.POINTS, np.unique(np.concatenate(envelopes), axis=0).ravel()

    def _expose(self, out: Outbox, event: int, step: _Step) -> None:
        value = step.values(step.table, np.array([step.new]))[0]
        there = step.values(step.table, step.rows_with(step.table, step.key(step.new)))
        blocking, members = self._alone(step, value, there)
        rows = step.rows_with(step.other, step.key(step.new))
        group, ranges = step.group(step.other), self._state.subscriptions
        if not len(members) or not len(rows):
            return
        if self._each:
            for member in members:
                one = np.array([member])
                reached = [row for row in rows if step.selects(ranges, one, row)[0]]
                if reached:
                    out.write(event, Form.SEMIJOINS, group, int(member))
                    out.write_tuples(Operation.INSERT, np.full(len(reached), step.other), np.array(reached))
            return
        for row in rows:
            if step.selects(ranges, members, row).any():
                out.write(event, Form.EXPOSED, group, EVERYBODY)
                out.write_tuples(Operation.INSERT, np.array([step.other]), np.array([row]))
                out.write_numbers(np.concatenate([value, blocking.ravel()]))

    def _drop(self, out: Outbox, event: int, step: _Step) -> None:
        group, ranges = step.group(step.other), self._state.subscriptions
        value, rows = step.values(step.table, np.array([step.old]))[0], step.rows_with(step.table, step.key(step.old))
        rows = rows[rows != step.old]
        if step.new != NO_ROW and step.key(step.new) == step.key(step.old):
            rows = np.append(rows, step.new)
        blocking, members = self._alone(step, value, step.values(step.table, rows))
        members = members[ranges.one_sided(self._state.shape, group)[members]]
        if not len(members) or not len(step.rows_with(step.other, step.key(step.old))):
            return
        for member in members if self._each else [EVERYBODY]:
            out.write(event, Form.SEMIJOINS if self._each else Form.DROPPED, group, int(member))
            out.write_tuples(Operation.DROP, np.array([step.other]), np.array([step.old]))
            if not self._each:
                out.write_numbers(np.concatenate([value, blocking.ravel()]))

    def _alone(self, step: _Step, value: Floats, rows: Floats) -> tuple[Floats, Int64s]:
        """Envelope of a filter row among the others, and the members that select it and none of them."""
        ranges = self._state.subscriptions
        blocking = envelope_of(rows, value)
        members = np.flatnonzero(ranges.members(self._state.shape, step.group(step.other)))
        members = members[step.inside(ranges, members, step.table, value)]
        return blocking, members[~step.inside_any(ranges, members, step.table, blocking)]


@dataclass(frozen=True)
class _Step:
    """One change at one edge: the changed table, and its neighbour."""

    state: JoinState
    table: int
    edge: int
    old: int
    new: int

    @property
    def other(self) -> int:
        left, right = self.state.shape.edges[self.edge]
        return right if self.table == left else left

    def group(self, base: int) -> int:
        return 2 * self.edge + self.state.shape.edges[self.edge].index(base)

    def key(self, row: int) -> int:
        return int(self.state.rows[self.table].keys[self.edge][row])

    def rows_with(self, table: int, key: int) -> Int64s:
        return self.state.edges[self.edge].rows_with(table, key)

    def values(self, table: int, rows: Int64s) -> Floats:
        return self.state.rows[table].values[rows, : self.state.shape.considered[table]]

    def box(self, ranges: Ranges, members: Int64s, table: int) -> tuple[Floats, Floats]:
        first = int(self.state.shape.first_column[table])
        columns = slice(first, first + self.state.shape.considered[table])
        return ranges.low[members, columns], ranges.high[members, columns]

    def inside(self, ranges: Ranges, members: Int64s, table: int, value: Floats) -> Bools:
        low, high = self.box(ranges, members, table)
        return np.asarray(((low <= value) & (value <= high)).all(axis=1))

    def inside_any(self, ranges: Ranges, members: Int64s, table: int, values: Floats) -> Bools:
        mask: Bools = np.zeros(len(members), np.bool_)
        for value in values:
            np.logical_or(mask, self.inside(ranges, members, table, value), out=mask)
        return mask

    def selects(self, ranges: Ranges, members: Int64s, row: int) -> Bools:
        """Subscriptions that select a row of the neighbour."""
        return self.inside(ranges, members, self.other, self.values(self.other, np.array([row]))[0])


def _joining(state: JoinState, table: int, edge: int, row: int) -> int:
    """A row, or none if its key joins nothing."""
    return row if row != NO_ROW and state.rows[table].keys[edge][row] >= 0 else NO_ROW


# Skylines of a join key's rows, written into a message. The rows stand in the filter table's index by (key, value).

STRIDE = 16  # rows walked before searching


@bare_kernel
def joining_tuples(out: Any, o: Any, key: int) -> None:
    """Writes Ref-SJ-Tup's description: all values there are."""
    last = np.nan
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    while place < o.counters[PLACES]:
        block = o.places[place].block
        for k in range(offset, o.heads[block].length):
            if o.entries[block, k].key != key:
                return
            if o.entries[block, k].value != last:
                last = o.entries[block, k].value
                put_number(out, last)
        place += 1
        offset = 0


@bare_kernel
def minimum_area(out: Any, o: Any, st: Any, key: int, base: float, other: float, scratch: Any) -> None:
    """Writes Ref-SJ-Sub's description: affected members' intervals, only the inner of nested ones (Theorem 2)."""
    count = values_of_key(o, key, scratch.points)
    found = scratch.found
    count = reaching(st, scratch.points, count, base, other, found)
    sort_by_high(found, count)
    # By high ends, ascending: one contains an earlier one unless its low end is above all of theirs.
    highest = np.nan
    for k in range(count):
        last = k + 1 == count or found[k + 1].high != found[k].high
        # Of those with one high end, the last has the highest low end.
        if last and not (found[k].low <= highest):
            highest = found[k].low
            put_number(out, found[k].low)
            put_number(out, found[k].high)


@bare_kernel
def nearest_tuples(out: Any, o: Any, st: Any, key: int) -> None:
    """Writes Ref-SJ-Clu's description: the nearest rows on each side of every anchor.

    Rows and anchors are walked in leaps: from an anchor to the rows beside it, from the upper of these to the next
    anchor not below it.
    """
    anchors = st.counters[CLUSTERS]
    k = 0
    last = np.nan
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    while k < anchors:
        anchor = st.anchors[k]
        place, offset = leap(o, place, offset, key, anchor)
        there = is_entry(o, place) and o.entries[o.places[place].block, offset].key == key
        upper = o.entries[o.places[place].block, offset].value if there else np.nan
        if upper != anchor:
            # The row below the anchor; it may be the one above the anchor before.
            before, at = preceding(o, place, offset)
            if is_entry(o, before) and o.entries[o.places[before].block, at].key == key:
                lower = o.entries[o.places[before].block, at].value
                if lower != last:
                    put_number(out, lower)
            if not there:
                break
        put_number(out, upper)
        last = upper
        k = soon_above(st.anchors, k, anchors, upper)


@inlined_kernel
def leap(o: Any, place: int, offset: int, key: int, value: float) -> tuple[int, int]:
    """The key's first row at or above a value, from a row at or below it on; past the key's rows if there is none."""
    if place >= o.counters[PLACES]:
        return place, offset
    block = o.places[place].block
    stop = min(offset + STRIDE, o.heads[block].length)
    while offset < stop:
        if o.entries[block, offset].value >= value or o.entries[block, offset].key != key:
            return place, offset
        offset += 1
    return find(o, key, value, LEAST_ITEM)


@bare_kernel
def sort_by_high(found: Any, count: int) -> None:
    """Shell's sort of intervals by their high ends, then their low ones, in place."""
    gap = 1
    while gap < count // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, count):
            number, low, high = found[k].number, found[k].low, found[k].high
            j = k
            while j >= gap and (
                found[j - gap].high > high or (found[j - gap].high == high and found[j - gap].low > low)
            ):
                found[j] = found[j - gap]
                j -= gap
            found[j].number, found[j].low, found[j].high = number, low, high
        gap //= 3
