"""Rel-Sel (Chandramouli & Yang 2008, §2.3): selections only."""

from __future__ import annotations

import numpy as np

from tamis.joins.index.messages import EVERYBODY, Form, Messages, Operation
from tamis.joins.index.outbox import SENT, TUPLES, Outbox
from tamis.joins.index.tables import Changes
from tamis.joins.schemes.scheme import Scheme, collected


class RelSel(Scheme):
    """Relaxation to selections (§2.3): every change goes out as it is, and clients join."""

    name = "rel-sel"

    def change(self, changes: Changes) -> Messages:
        sequence = self.state.begin(changes)
        out = Outbox(max(1, 2 * len(changes)))
        messages, tuples, there = out.arrays.messages, out.arrays.tuples, len(changes)
        comes, goes = changes.new >= 0, changes.old >= 0
        first = np.concatenate([[0], np.cumsum(comes.astype(np.int64) + goes)])
        messages["event"][:there], messages["first_tuple"][:there] = np.arange(there), first[:-1]
        messages["form"], messages["group"], messages["subscription"] = Form.SELECTED, -1, EVERYBODY
        for mask, rows, place, operation in (
            (comes, changes.new, first[:-1], Operation.INSERT),
            (goes, changes.old, first[1:] - 1, Operation.DELETE),
        ):
            tuples["operation"][place[mask]] = operation
            tuples["table"][place[mask]], tuples["row"][place[mask]] = changes.table[mask], rows[mask]
        out.arrays.counters[SENT], out.arrays.counters[TUPLES] = there, first[-1]
        for edge in self.state.edges:
            edge.follow(changes, 0, len(changes))
        return collected([out], [rows.values for rows in self.state.rows], sequence)
