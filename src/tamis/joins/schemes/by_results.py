"""Schemes that send join results, of any number of tables: those that a change makes, and those that it ends."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from tamis.arrays import Bools, Floats, Int64s
from tamis.joins.index.edge import JoinState
from tamis.joins.index.messages import Messages, Operation
from tamis.joins.index.outbox import Outbox
from tamis.joins.index.ranges import Shape
from tamis.joins.index.tables import Changes
from tamis.joins.schemes.scheme import ByEdges

_AT_ONCE = 1 << 22  # subscriptions times results looked at together


class ByResults(ByEdges):
    """Schemes that send join results. Two tables are joined by their edge's kernel, more of them result by result."""

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
    """All results of a signature that one row is part of: a line a result, a row a table, tables ascending."""
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
    """For every key the rows of a table that have it: places among the keys, and rows."""
    each = {int(key): state.edges[edge].rows_with(table, int(key)) for key in np.unique(keys)}
    found = [each[int(key)] for key in keys]
    counts = np.array([len(part) for part in found], np.int64)
    rows = np.concatenate(found) if found else np.empty(0, np.int64)
    return np.repeat(np.arange(len(keys)), counts), rows


def selecting(state: JoinState, signature: int, table: int, row: int) -> Int64s:
    """The subscriptions of a signature that select a row of one of its tables."""
    ranges, first = state.subscriptions, int(state.shape.first_column[table])
    found = ranges.signature == signature
    for place, value in enumerate(state.rows[table].values[row].tolist()):
        found &= (ranges.low[:, first + place] <= value) & (value <= ranges.high[:, first + place])
    return np.flatnonzero(found)


def wanted(state: JoinState, signature: int, results: Int64s, numbers: Int64s) -> tuple[Int64s, Bools]:
    """Subscriptions that select one of the results, and by subscription and result whether they do."""
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
