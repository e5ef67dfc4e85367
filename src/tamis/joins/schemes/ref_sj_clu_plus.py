"""Ref-SJ-Clu⁺ (Chandramouli & Yang 2008, §3.2.1, App. B): as Ref-SJ-Clu, with points merged."""

from __future__ import annotations

from typing import Any, ClassVar

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.index.edge import EdgeState
from tamis.joins.index.edge_kernels import GAPS_FULL, INDEX_FULL, OUTBOX_FULL, follow
from tamis.joins.index.envelopes import Description
from tamis.joins.index.gaps import forget_gap, merged_tuples
from tamis.joins.index.kernels import SPARE, find
from tamis.joins.index.merging_edge import MergingEdge
from tamis.joins.index.messages import Form
from tamis.joins.index.outbox import FULL, NUMBERS, SENT, TUPLES, take_back
from tamis.joins.index.semijoin_edge import begin_described, end_described, joining, news, selected_by, tell_reach
from tamis.joins.index.tables import NO_ROW
from tamis.joins.schemes.enum_sj import BySemijoins


@bare_kernel
def run_ref_sj_clu_plus(
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
                begin_described(out, event, Form.SKYLINE, own, comes, goes)
                key = own.keys[comes if comes != NO_ROW else goes]
                base, instead = selected_by(own.values, comes, goes)
                if not merged_tuples(out, other.entries, own.stabbing, own.gaps, key, base, instead, scratch):
                    take_back(out, sent, tuples, numbers)
                    return event, GAPS_FULL
                end_described(out)
        tell_reach(out, event, own, other, old[event], new[event], scratch)
        if out.counters[FULL]:
            take_back(out, sent, tuples, numbers)
            return event, OUTBOX_FULL
        _forget_gap(own, other, joining(own.keys, old[event]))
        follow(own.entries, own.keys, own.values, old[event], new[event])
    return len(table), 0


@inlined_kernel
def _forget_gap(own: Any, other: Any, old: int) -> None:
    """The gap above a row that goes is known no more."""
    if old != NO_ROW:
        place, offset = find(own.entries, own.keys[old], own.values[old, 0], old)
        forget_gap(other.gaps, int(own.entries.entries[own.entries.places[place].block, offset].end))


class RefSJCluPlus(BySemijoins):
    """Semijoins, described as in Ref-SJ-Clu, with points merged over disposable triangles (§3.2.1, App. B).

    Departs: what decides that a triangle is disposable is kept with the gap between two rows until it changes, and any
    two points with a disposable triangle are merged.
    """

    name, description = "ref-sj-clu+", Description.CLUSTERS
    edge: ClassVar[type[EdgeState]] = MergingEdge
    kernel = staticmethod(run_ref_sj_clu_plus)
