"""Ref-J and Ref-J⁺ (Chandramouli & Yang 2008, §2.3): join results, to whoever selects them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays import Int64s
from tamis.compiled import bare_kernel
from tamis.joins.index.edge_kernels import INDEX_FULL, OUTBOX_FULL, follow, mark, rows_of_key
from tamis.joins.index.kernels import SPARE
from tamis.joins.index.messages import EVERYBODY, Form, Operation
from tamis.joins.index.outbox import FULL, NUMBERS, SENT, TUPLES, Outbox, begin, put_pair, take_back
from tamis.joins.index.stabbing_kernels import reaching
from tamis.joins.index.tables import NO_ROW
from tamis.joins.schemes.by_results import ByResults, selecting, wanted


@bare_kernel
def run_ref_j(
    out: Any, left: Any, right: Any, members: Any, table: Any, old: Any, new: Any, start: int, scratch: Any
) -> tuple[int, int]:
    """Changes of any tables, from start on; gives the first that is not done, and what was missing for it."""
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
    """As `run_ref_j`, for those results only that a member's first intervals hold."""
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
    """Join results without selections, to whoever selects them (§2.3)."""

    name = "ref-j"
    kernel = staticmethod(run_ref_j)

    def tell(
        self, out: Outbox, event: int, signature: int, table: int, row: int, results: Int64s, operation: Operation
    ) -> None:
        for result in results:
            out.write(event, Form.JOINED, signature, EVERYBODY)
            out.write_tuples(operation, np.array(self.state.shape.tables_of(signature)), result)


class RefJPlus(RefJ):
    """Ref-J for those join results that somebody selects (§2.3)."""

    name = "ref-j+"
    kernel = staticmethod(run_ref_j_plus)

    def tell(
        self, out: Outbox, event: int, signature: int, table: int, row: int, results: Int64s, operation: Operation
    ) -> None:
        _, mask = wanted(self.state, signature, results, selecting(self.state, signature, table, row))
        super().tell(out, event, signature, table, row, results[mask.any(axis=0)], operation)
