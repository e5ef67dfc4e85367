"""What a change means to semijoins over several attributes a table, written into messages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tamis.joins.index.envelope_points import anchors_of, envelope_of, innermost_boxes
from tamis.joins.index.messages import EVERYBODY, Form, Operation
from tamis.joins.index.outbox import Outbox
from tamis.joins.index.ranges import Floats, Integers, Mask, Ranges
from tamis.joins.index.state import JoinState
from tamis.joins.index.tables import NO_ROW, Changes


class Description(Enum):
    """How a scheme says for whom base tuples are meant."""

    NONE = "each member is told by itself"
    TUPLES = "all joining tuples"
    CLUSTERS = "the joining tuples beside clusters' anchors"
    MEMBERS = "the affected members themselves"


class EnvelopeWriter:
    """Writes the messages of one scheme for tables of which several attributes are considered.

    All members of a group are looked at for every change: exact, and linear in their number. Skylines by clusters have
    no disposable triangles here, so Clu⁺ is Clu.
    """

    def __init__(self, state: JoinState, description: Description) -> None:
        self._state, self._description = state, description
        self._each = description is Description.NONE
        self._anchors: dict[int, tuple[int, Floats]] = {}

    def write(self, out: Outbox, changes: Changes, event: int) -> None:
        """For one change, before the edges follow it."""
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
        """Of base rows that came and went with one join key."""
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

    def _described(self, step: _Step, group: int, members: Integers, partners: Floats) -> tuple[Form, Floats]:
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

    def _alone(self, step: _Step, value: Floats, rows: Floats) -> tuple[Floats, Integers]:
        """The envelope of a filter row among the others, and who selects it and none of them."""
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

    def rows_with(self, table: int, key: int) -> Integers:
        return self.state.edges[self.edge].rows_with(table, key)

    def values(self, table: int, rows: Integers) -> Floats:
        return self.state.rows[table].values[rows, : self.state.shape.considered[table]]

    def box(self, ranges: Ranges, members: Integers, table: int) -> tuple[Floats, Floats]:
        first = int(self.state.shape.first_column[table])
        columns = slice(first, first + self.state.shape.considered[table])
        return ranges.low[members, columns], ranges.high[members, columns]

    def inside(self, ranges: Ranges, members: Integers, table: int, value: Floats) -> Mask:
        low, high = self.box(ranges, members, table)
        return np.asarray(((low <= value) & (value <= high)).all(axis=1))

    def inside_any(self, ranges: Ranges, members: Integers, table: int, values: Floats) -> Mask:
        mask: Mask = np.zeros(len(members), np.bool_)
        for value in values:
            np.logical_or(mask, self.inside(ranges, members, table, value), out=mask)
        return mask

    def selects(self, ranges: Ranges, members: Integers, row: int) -> Mask:
        """Who selects a row of the neighbour."""
        return self.inside(ranges, members, self.other, self.values(self.other, np.array([row]))[0])


def _joining(state: JoinState, table: int, edge: int, row: int) -> int:
    """A row, or none if its key joins nothing."""
    return row if row != NO_ROW and state.rows[table].keys[edge][row] >= 0 else NO_ROW
