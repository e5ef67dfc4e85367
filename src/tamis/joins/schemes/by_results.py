"""Schemes that send join results (Enum-J, Ref-J, Ref-J⁺): those that a change makes, and those that it ends."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from tamis.arrays import Bools, Floats, Int64s
from tamis.compiled import bare_kernel
from tamis.joins.index.edge import INDEX_FULL, OUTBOX_FULL, JoinState, follow, mark, rows_of_key
from tamis.joins.index.kernels import SPARE
from tamis.joins.index.messages import EVERYBODY, Form, Messages, Operation, inside
from tamis.joins.index.outbox import FULL, NUMBERS, SENT, TUPLES, Outbox, begin, put_pair, take_back
from tamis.joins.index.ranges import Shape
from tamis.joins.index.stabbing_kernels import reaching
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.schemes.scheme import ByEdges

_AT_ONCE = 1 << 22  # subscriptions times results looked at together


class ByResults(ByEdges):
    """Base of schemes that send join results. Two tables are joined by their edge's kernel, more result by result."""

    def change(self, changes: Changes) -> Messages:
        if all(len(edges) == 1 for edges in self.state.shape.signatures):
            return super().change(changes)
        return self.one_by_one(changes, self._write)

    def follow(self, changes: Changes) -> None:
        self.state.begin(changes)
        for edge in self.state.edges:
            edge.follow(changes, 0, len(changes))

    @abstractmethod
    def tell(
        self, out: Outbox, event: int, signature: int, table: int, row: int, results: Int64s, operation: Operation
    ) -> None:
        """Writes messages of results of a signature that come or go with one row: a line a result, a row a table."""

    def _write(self, out: Outbox, changes: Changes, event: int) -> None:
        """Writes messages for one change, before the tables' indexes follow it, for every signature with its table.

        New results are those of the new row with the other tables, old ones those of the old row. Subscriptions are
        gone through for those that select the row, and results are made whole, so it takes as long as there are many
        (App. F).
        """
        table, shape = int(changes.table[event]), self.state.shape
        for row, operation in (
            (int(changes.new[event]), Operation.INSERT),
            (int(changes.old[event]), Operation.DELETE),
        ):
            if row < 0:
                continue
            for signature in range(len(shape.signatures)):
                if table in shape.tables_of(signature):
                    results = joined(self.state, signature, table, row)
                    if len(results):
                        self.tell(out, event, signature, table, row, results, operation)


def joined(state: JoinState, signature: int, table: int, row: int) -> Int64s:
    """Results of a signature that one row is part of: a line per result, a row per table, tables ascending."""
    shape = state.shape
    rows = {table: np.array([row], np.int64)}
    remaining = list(shape.signatures[signature])
    while remaining:
        edge = next(edge for edge in remaining if rows.keys() & set(shape.edges[edge]))
        remaining.remove(edge)
        left, right = shape.edges[edge]
        if left in rows and right in rows:
            agree = state.rows[left].keys[edge][rows[left]] == state.rows[right].keys[edge][rows[right]]
            rows = {which: numbers[agree] for which, numbers in rows.items()}
        else:
            known, other = (left, right) if left in rows else (right, left)
            place, found = _partners(state, edge, other, state.rows[known].keys[edge][rows[known]])
            rows = {which: numbers[place] for which, numbers in rows.items()} | {other: found}
    return np.column_stack([rows[which] for which in shape.tables_of(signature)])


def _partners(state: JoinState, edge: int, table: int, keys: Int64s) -> tuple[Int64s, Int64s]:
    """Rows of a table for each key: places among the keys, and rows."""
    each = {int(key): state.edges[edge].rows_with(table, int(key)) for key in np.unique(keys)}
    found = [each[int(key)] for key in keys]
    counts = np.array([len(part) for part in found], np.int64)
    rows = np.concatenate(found) if found else np.empty(0, np.int64)
    return np.repeat(np.arange(len(keys)), counts), rows


def selecting(state: JoinState, signature: int, table: int, row: int) -> Int64s:
    """Subscriptions of a signature that select a row of one of its tables."""
    ranges, first = state.subscriptions, int(state.shape.first_column[table])
    found = ranges.signature == signature
    for place, value in enumerate(state.rows[table].values[row].tolist()):
        found &= (ranges.low[:, first + place] <= value) & (value <= ranges.high[:, first + place])
    return np.flatnonzero(found)


def wanted(state: JoinState, signature: int, results: Int64s, numbers: Int64s) -> tuple[Int64s, Bools]:
    """Subscriptions that select one of the results, and a mask by subscription and result."""
    ranges, shape = state.subscriptions, state.shape
    tables = shape.tables_of(signature)
    values = _columns(shape, state, tables, results)
    columns = np.concatenate([np.arange(shape.first_column[t], shape.first_column[t + 1]) for t in tables])
    at_once = max(1, _AT_ONCE // max(1, len(results)))
    kept, masks = [np.empty(0, np.int64)], [np.zeros((0, len(results)), np.bool_)]
    for start in range(0, len(numbers), at_once):
        part = numbers[start : start + at_once]
        selected = np.ones((len(part), len(results)), np.bool_)
        for place, column in enumerate(columns):
            low, high = ranges.low[part, column, None], ranges.high[part, column, None]
            selected &= (low <= values[None, :, place]) & (values[None, :, place] <= high)
        some = selected.any(axis=1)
        kept.append(part[some])
        masks.append(selected[some])
    return np.concatenate(kept), np.concatenate(masks)


def _columns(shape: Shape, state: JoinState, tables: tuple[int, ...], results: Int64s) -> Floats:
    parts = [state.rows[table].values[results[:, place]] for place, table in enumerate(tables)]
    return np.concatenate(parts, axis=1)


# Enum-J (Chandramouli & Yang 2008, §2.3): join results, told to each subscription.


@bare_kernel
def run_enum_j(
    out: Any, left: Any, right: Any, members: Any, table: Any, old: Any, new: Any, start: int, scratch: Any
) -> tuple[int, int]:
    """Runs Enum-J over changes from `start` on; returns the first that is not done, and what was missing for it."""
    for event in range(start, len(table)):
        missing = 0
        if table[event] == left.table:
            missing = _change(out, event, left, right, members, old[event], new[event], scratch)
        elif table[event] == right.table:
            missing = _change(out, event, right, left, members, old[event], new[event], scratch)
        if missing:
            return event, missing
    return len(table), 0


@bare_kernel
def _change(out: Any, event: int, own: Any, other: Any, members: Any, old: int, new: int, scratch: Any) -> int:
    """Sends every member of the signature its new and old results, and follows the change; returns what was missing."""
    if own.entries.counters[SPARE] == 0:
        return INDEX_FULL
    sent, tuples, numbers = out.counters[SENT], out.counters[TUPLES], out.counters[NUMBERS]
    own_column, own_width = members.first_column[own.table], own.values.shape[1]
    other_column, other_width = members.first_column[other.table], other.values.shape[1]
    # New results first, with the new row, then those that end with the old row: both against the other table as it is.
    # The change itself is followed only when both are written.
    for step in range(2):
        row, operation = (new, Operation.INSERT) if step == 0 else (old, Operation.DELETE)
        if row == NO_ROW or own.keys[row] < 0:
            continue
        # The rows that join this one, by their first attribute, and the members whose first intervals hold it and one
        # of these. Both are more than is meant where a table has several attributes.
        rows = rows_of_key(other.entries, own.keys[row], scratch.points, scratch.rows)
        count = reaching(own.stabbing, scratch.points, rows, own.values[row, 0], np.nan, scratch.found)
        for k in range(count):
            member = scratch.found[k].number
            if not inside(members.low, members.high, member, own_column, own.values[row], 0, own_width):
                continue
            begun = False
            here = 0
            while here < rows and scratch.points[here] < scratch.found[k].low:
                here += 1
            while here < rows and scratch.points[here] <= scratch.found[k].high:
                joined = scratch.rows[here].number
                if inside(members.low, members.high, member, other_column, other.values[joined], 0, other_width):
                    if not begun:
                        begin(out, event, Form.RESULTS, members.signature, member)
                        begun = True
                    put_pair(out, operation, own.table, row, other.table, joined)
                here += 1
    if out.counters[FULL]:
        # Half a change is told to nobody: all of it is written again once there is room.
        take_back(out, sent, tuples, numbers)
        return OUTBOX_FULL
    follow(own.entries, own.keys, own.values, old, new)
    return 0


class EnumJ(ByResults):
    """Enum-J (§2.3): join results, told to each subscription."""

    name, one_to_each = "enum-j", True
    kernel = staticmethod(run_enum_j)

    def tell(
        self, out: Outbox, event: int, signature: int, table: int, row: int, results: Int64s, operation: Operation
    ) -> None:
        numbers, mask = wanted(self.state, signature, results, selecting(self.state, signature, table, row))
        tables = self.state.shape.tables_of(signature)
        for place in np.flatnonzero(mask.any(axis=1)):
            out.write(event, Form.RESULTS, signature, int(numbers[place]))
            out.write_tuples(operation, np.tile(tables, mask[place].sum()), results[mask[place]].ravel())


# Ref-J and Ref-J⁺ (Chandramouli & Yang 2008, §2.3): join results, sent once to all who select them.


@bare_kernel
def run_ref_j(
    out: Any, left: Any, right: Any, members: Any, table: Any, old: Any, new: Any, start: int, scratch: Any
) -> tuple[int, int]:
    """Runs Ref-J over changes from `start` on; returns the first that is not done, and what was missing for it."""
    for event in range(start, len(table)):
        if table[event] != left.table and table[event] != right.table:
            continue
        own, other = (left, right) if table[event] == left.table else (right, left)
        if own.entries.counters[SPARE] == 0:
            return event, INDEX_FULL
        sent, tuples, numbers = out.counters[SENT], out.counters[TUPLES], out.counters[NUMBERS]
        for step in range(2):
            row, operation = (new[event], Operation.INSERT) if step == 0 else (old[event], Operation.DELETE)
            if row != NO_ROW and own.keys[row] >= 0:
                rows = rows_of_key(other.entries, own.keys[row], scratch.points, scratch.rows)
                for k in range(rows):
                    begin(out, event, Form.JOINED, members.signature, EVERYBODY)
                    put_pair(out, operation, own.table, row, other.table, scratch.rows[k].number)
        if out.counters[FULL]:
            take_back(out, sent, tuples, numbers)
            return event, OUTBOX_FULL
        follow(own.entries, own.keys, own.values, old[event], new[event])
    return len(table), 0


@bare_kernel
def run_ref_j_plus(
    out: Any, left: Any, right: Any, members: Any, table: Any, old: Any, new: Any, start: int, scratch: Any
) -> tuple[int, int]:
    """Runs Ref-J⁺: as `run_ref_j`, for those results only that a member's first intervals hold."""
    for event in range(start, len(table)):
        if table[event] != left.table and table[event] != right.table:
            continue
        own, other = (left, right) if table[event] == left.table else (right, left)
        if own.entries.counters[SPARE] == 0:
            return event, INDEX_FULL
        sent, tuples, numbers = out.counters[SENT], out.counters[TUPLES], out.counters[NUMBERS]
        for step in range(2):
            row, operation = (new[event], Operation.INSERT) if step == 0 else (old[event], Operation.DELETE)
            if row != NO_ROW and own.keys[row] >= 0:
                rows = rows_of_key(other.entries, own.keys[row], scratch.points, scratch.rows)
                count = reaching(own.stabbing, scratch.points, rows, own.values[row, 0], np.nan, scratch.found)
                mark(scratch.points, scratch.rows, rows, scratch.found, count)
                for k in range(rows):
                    if scratch.rows[k].mark > 0:
                        begin(out, event, Form.JOINED, members.signature, EVERYBODY)
                        put_pair(out, operation, own.table, row, other.table, scratch.rows[k].number)
        if out.counters[FULL]:
            take_back(out, sent, tuples, numbers)
            return event, OUTBOX_FULL
        follow(own.entries, own.keys, own.values, old[event], new[event])
    return len(table), 0


class RefJ(ByResults):
    """Ref-J (§2.3): join results without selections, sent once, to all who select them."""

    name = "ref-j"
    kernel = staticmethod(run_ref_j)

    def tell(
        self, out: Outbox, event: int, signature: int, table: int, row: int, results: Int64s, operation: Operation
    ) -> None:
        for result in results:
            out.write(event, Form.JOINED, signature, EVERYBODY)
            out.write_tuples(operation, np.array(self.state.shape.tables_of(signature)), result)


class RefJPlus(RefJ):
    """Ref-J⁺ (§2.3): as Ref-J, for those join results that somebody selects."""

    name = "ref-j+"
    kernel = staticmethod(run_ref_j_plus)

    def tell(
        self, out: Outbox, event: int, signature: int, table: int, row: int, results: Int64s, operation: Operation
    ) -> None:
        _, mask = wanted(self.state, signature, results, selecting(self.state, signature, table, row))
        super().tell(out, event, signature, table, row, results[mask.any(axis=0)], operation)
