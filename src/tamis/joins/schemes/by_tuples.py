"""Schemes that send tuples (Chandramouli & Yang 2008, §3): semijoins told to each or described once, and selections.

Ref-SJ schemes differ in the description of the subscriptions that a message is for. Each has a kernel of its own, so
that only the one in use is compiled; all go through the changes in one way: send the news of a change with their
description, then the rows that came into reach or went out of it, and follow.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.index.edge import GAPS_FULL, INDEX_FULL, OUTBOX_FULL, EdgeState, follow
from tamis.joins.index.envelopes import Description, EnvelopeWriter, joining_tuples, minimum_area, nearest_tuples
from tamis.joins.index.gaps import forget_gap, merged_tuples
from tamis.joins.index.kernels import SPARE, find
from tamis.joins.index.messages import EVERYBODY, Form, Messages, Operation
from tamis.joins.index.outbox import FULL, NUMBERS, SENT, TUPLES, Outbox, take_back
from tamis.joins.index.ranges import Shape
from tamis.joins.index.semijoin_edge import (
    MergingEdge,
    SemijoinEdge,
    begin_described,
    end_described,
    joining,
    news,
    selected_by,
    tell_affected,
    tell_dropped,
    tell_exposed,
    tell_reach,
)
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.schemes.scheme import ByEdges, Scheme, collected

# Enum-SJ (Chandramouli & Yang 2008, §3.1): semijoins, told to each subscription.


class BySemijoins(ByEdges):
    """Base of semijoin schemes: by their edges' kernels, or by envelopes where several attributes are considered."""

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
    """Runs Enum-SJ over changes from `start` on; returns the first that is not done, and what was missing for it."""
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
    """Enum-SJ (§3.1): semijoins, told to each subscription."""

    name, one_to_each, description = "enum-sj", True, Description.NONE
    kernel = staticmethod(run_enum_sj)


@bare_kernel
def run_ref_sj_tup(
    out: Any, left: Any, right: Any, members: Any, table: Any, old: Any, new: Any, start: int, scratch: Any
) -> tuple[int, int]:
    """Runs Ref-SJ-Tup over changes from `start` on; returns the first that is not done, and what was missing."""
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
    """Runs Ref-SJ-Sub: as `run_ref_sj_tup`, with the intervals of affected members as description."""
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
    """Runs Ref-SJ-Clu: as `run_ref_sj_tup`, with the rows nearest to anchors as description."""
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
    """Ref-SJ-Tup (§3.2.1): semijoins, described by all joining tuples."""

    name, description = "ref-sj-tup", Description.TUPLES
    kernel = staticmethod(run_ref_sj_tup)


class RefSJSub(BySemijoins):
    """Ref-SJ-Sub (§3.2.1): semijoins, described by the affected subscriptions: the skyline of least area."""

    name, description = "ref-sj-sub", Description.MEMBERS
    kernel = staticmethod(run_ref_sj_sub)


class RefSJClu(BySemijoins):
    """Ref-SJ-Clu (§3.2.1): semijoins, described by the joining tuples beside clusters' anchors."""

    name, description = "ref-sj-clu", Description.CLUSTERS
    kernel = staticmethod(run_ref_sj_clu)


# Ref-SJ-Clu⁺ (Chandramouli & Yang 2008, §3.2.1, App. B): as Ref-SJ-Clu, with points merged.


@bare_kernel
def run_ref_sj_clu_plus(
    out: Any, left: Any, right: Any, members: Any, table: Any, old: Any, new: Any, start: int, scratch: Any
) -> tuple[int, int]:
    """Runs Ref-SJ-Clu⁺ over changes from `start` on; returns the first not done, and what was missing for it."""
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
    """Frees the gap above a row that goes."""
    if old != NO_ROW:
        place, offset = find(own.entries, own.keys[old], own.values[old, 0], old)
        forget_gap(other.gaps, int(own.entries.entries[own.entries.places[place].block, offset].end))


class RefSJCluPlus(BySemijoins):
    """Ref-SJ-Clu⁺ (§3.2.1, App. B): as Ref-SJ-Clu, with points merged over disposable triangles.

    Departs: the facts that decide if a triangle is disposable are kept with the gap between two rows until it changes,
    and any two points with a disposable triangle are merged.
    """

    name, description = "ref-sj-clu+", Description.CLUSTERS
    edge: ClassVar[type[EdgeState]] = MergingEdge
    kernel = staticmethod(run_ref_sj_clu_plus)


# Rel-Sel (Chandramouli & Yang 2008, §2.3): selections only.


class RelSel(Scheme):
    """Rel-Sel (§2.3), relaxation to selections: every change goes out as it is, and clients join."""

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
