"""Ref-SJ (Chandramouli & Yang 2008, §3.2): semijoins, sent once with a description of whom they are meant for.

Schemes differ in the description. Each has a kernel of its own, which goes through the changes in one way: it tells the
news of a change with their description, then what came into reach or went out of it, and follows.
"""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.joins.index.edge_kernels import INDEX_FULL, OUTBOX_FULL, follow
from tamis.joins.index.envelopes import Description
from tamis.joins.index.kernels import SPARE
from tamis.joins.index.messages import Form
from tamis.joins.index.outbox import FULL, NUMBERS, SENT, TUPLES, take_back
from tamis.joins.index.semijoin_edge import begin_described, end_described, news, selected_by, tell_reach
from tamis.joins.index.skyline_kernels import joining_tuples, minimum_area, nearest_tuples
from tamis.joins.index.tables import NO_ROW
from tamis.joins.schemes.enum_sj import BySemijoins


@bare_kernel
def run_ref_sj_tup(
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
                begin_described(out, event, Form.POINTS, own, comes, goes)
                key = own.keys[comes if comes != NO_ROW else goes]
                joining_tuples(out, other.entries, key)
                end_described(out)
        tell_reach(out, event, own, other, old[event], new[event], scratch)
        if out.counters[FULL]:
            take_back(out, sent, tuples, numbers)
            return event, OUTBOX_FULL
        follow(own.entries, own.keys, own.values, old[event], new[event])
    return len(table), 0


@bare_kernel
def run_ref_sj_sub(
    out: Any, left: Any, right: Any, members: Any, table: Any, old: Any, new: Any, start: int, scratch: Any
) -> tuple[int, int]:
    """As `run_ref_sj_tup`, with another description."""
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
                minimum_area(out, other.entries, own.stabbing, key, base, instead, scratch)
                end_described(out)
        tell_reach(out, event, own, other, old[event], new[event], scratch)
        if out.counters[FULL]:
            take_back(out, sent, tuples, numbers)
            return event, OUTBOX_FULL
        follow(own.entries, own.keys, own.values, old[event], new[event])
    return len(table), 0


@bare_kernel
def run_ref_sj_clu(
    out: Any, left: Any, right: Any, members: Any, table: Any, old: Any, new: Any, start: int, scratch: Any
) -> tuple[int, int]:
    """As `run_ref_sj_tup`, with another description."""
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
                begin_described(out, event, Form.POINTS, own, comes, goes)
                key = own.keys[comes if comes != NO_ROW else goes]
                nearest_tuples(out, other.entries, own.stabbing, key)
                end_described(out)
        tell_reach(out, event, own, other, old[event], new[event], scratch)
        if out.counters[FULL]:
            take_back(out, sent, tuples, numbers)
            return event, OUTBOX_FULL
        follow(own.entries, own.keys, own.values, old[event], new[event])
    return len(table), 0


class RefSJTup(BySemijoins):
    """Semijoins, described by all joining tuples (§3.2.1)."""

    name, description = "ref-sj-tup", Description.TUPLES
    kernel = staticmethod(run_ref_sj_tup)


class RefSJSub(BySemijoins):
    """Semijoins, described by the affected subscriptions themselves (§3.2.1): the skyline of least area."""

    name, description = "ref-sj-sub", Description.MEMBERS
    kernel = staticmethod(run_ref_sj_sub)


class RefSJClu(BySemijoins):
    """Semijoins, described by the joining tuples beside clusters' anchors (§3.2.1)."""

    name, description = "ref-sj-clu", Description.CLUSTERS
    kernel = staticmethod(run_ref_sj_clu)
