"""Enum-SJ (Chandramouli & Yang 2008, §3.1): semijoins, told to each subscription."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.compiled import bare_kernel
from tamis.joins.index.edge import EdgeState
from tamis.joins.index.edge_kernels import INDEX_FULL, OUTBOX_FULL, follow
from tamis.joins.index.envelopes import Description, EnvelopeWriter
from tamis.joins.index.kernels import SPARE
from tamis.joins.index.messages import Messages
from tamis.joins.index.outbox import FULL, NUMBERS, SENT, TUPLES, take_back
from tamis.joins.index.ranges import Shape
from tamis.joins.index.semijoin_edge import SemijoinEdge, joining, news, tell_affected, tell_dropped, tell_exposed
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.schemes.scheme import ByEdges

# Schemes that send semijoins (Chandramouli & Yang 2008, §3).


class BySemijoins(ByEdges):
    """Schemes that send semijoins: by their edges' kernels, or by envelopes where several attributes are considered."""

    edge: ClassVar[type[EdgeState]] = SemijoinEdge
    description: ClassVar[Description]

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self._envelopes = EnvelopeWriter(self.state, self.description)

    def change(self, changes: Changes) -> Messages:
        if max(self.state.shape.considered) > 1:
            return self.one_by_one(changes, self._envelopes.write)
        return super().change(changes)


@bare_kernel
def run_enum_sj(
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
            comes, goes = news(own.keys, old[event], new[event], step)
            if comes != NO_ROW or goes != NO_ROW:
                tell_affected(out, event, own, other, comes, goes, scratch)
        # Then what the change does to rows of the other table.
        comes, goes = joining(own.keys, new[event]), joining(own.keys, old[event])
        if comes != NO_ROW:
            tell_exposed(out, event, own, other, comes, scratch)
        if goes != NO_ROW and other.one_sided > 0:
            tell_dropped(out, event, own, other, comes, goes, members.filtering, scratch)
        if out.counters[FULL]:
            take_back(out, sent, tuples, numbers)
            return event, OUTBOX_FULL
        follow(own.entries, own.keys, own.values, old[event], new[event])
    return len(table), 0


class EnumSJ(BySemijoins):
    """Semijoins, told to each subscription (§3.1)."""

    name, one_to_each, description = "enum-sj", True, Description.NONE
    kernel = staticmethod(run_enum_sj)
