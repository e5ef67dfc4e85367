"""Enum-J (Chandramouli & Yang 2008, §2.3): join results, told to each subscription."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays import Int64s
from tamis.compiled import bare_kernel
from tamis.joins.index.edge_kernels import INDEX_FULL, OUTBOX_FULL, follow, rows_of_key
from tamis.joins.index.kernels import SPARE
from tamis.joins.index.messages import Form, Operation, inside
from tamis.joins.index.outbox import FULL, NUMBERS, SENT, TUPLES, Outbox, begin, put_pair, take_back
from tamis.joins.index.stabbing_kernels import reaching
from tamis.joins.index.tables import NO_ROW
from tamis.joins.schemes.by_results import ByResults, selecting, wanted


@bare_kernel
def run_enum_j(
    out: Any, left: Any, right: Any, members: Any, table: Any, old: Any, new: Any, start: int, scratch: Any
) -> tuple[int, int]:
    """Changes of any tables, from start on; gives the first that is not done, and what was missing for it."""
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
    """Tells every member of the edge's signature its new and its old results, and follows; what was missing for it."""
    if own.entries.counters[SPARE] == 0:
        return INDEX_FULL
    sent, tuples, numbers = out.counters[SENT], out.counters[TUPLES], out.counters[NUMBERS]
    own_column, own_width = members.first_column[own.table], own.values.shape[1]
    other_column, other_width = members.first_column[other.table], other.values.shape[1]
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
    """Join results, told to each subscription (§2.3)."""

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
