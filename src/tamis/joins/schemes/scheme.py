"""The protocol of all schemes, and the nine by name. Sections are those of Chandramouli & Yang 2008."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tamis.joins.edges.kernels import ENUM_J, ENUM_SJ, REF_J, REF_J_PLUS
from tamis.joins.envelopes.writing import EnvelopeWriter
from tamis.joins.ranges import NOT_THERE, Integers, Ranges, Shape
from tamis.joins.schemes.collecting import collected
from tamis.joins.schemes.messages import EVERYBODY, Form, Messages, Operation
from tamis.joins.schemes.results import write_results
from tamis.joins.semijoins.kernels import CLU, CLU_PLUS, SUB, TUP
from tamis.joins.sending import Outbox
from tamis.joins.sending.kernels import SENT, TUPLES
from tamis.joins.state import JoinState
from tamis.joins.tables import Changes


class Scheme(ABC):
    """A way to tell subscribers of changes. It keeps tables and subscriptions, and says what to send.

    Rows are put into `state.rows` and named in `Changes`; `change` gives the messages and leaves the tables changed.
    All schemes take the same and leave every client with the same content.
    """

    name: ClassVar[str]

    def __init__(self, shape: Shape) -> None:
        self.state = JoinState(shape)

    def subscribe(self, ranges: Ranges) -> Integers:
        """Takes subscriptions in and gives their numbers, by which messages and `unsubscribe` know them."""
        return self.state.subscribe(ranges)

    def unsubscribe(self, numbers: npt.ArrayLike) -> None:
        self.state.unsubscribe(numbers)

    @abstractmethod
    def change(self, changes: Changes) -> Messages:
        """What is to be sent for these changes, which are made one after the other."""

    def follow(self, changes: Changes) -> None:
        """Leaves the tables changed, and sends nothing."""
        self.change(changes)


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
            edge.follow(changes, self.state.members(), 0, len(changes))
        return collected([out], [rows.values for rows in self.state.rows], sequence)


class _ByEdges(Scheme):
    """Schemes that go through the changes edge by edge: no edge needs to know of another."""

    how: ClassVar[int]
    one_to_each: ClassVar[bool] = False

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self._outboxes = [Outbox() for _ in shape.edges]
        self._envelopes = EnvelopeWriter(self.state, self.how)

    def change(self, changes: Changes) -> Messages:
        sequence = self.state.begin(changes)
        if self.how <= ENUM_SJ and max(self.state.shape.considered) > 1:
            return self._one_by_one(changes, sequence, self._envelopes.write)
        for edge, out in zip(self.state.edges, self._outboxes, strict=True):
            out.clear()
            edge.run(out, self.how, changes, self.state.members(self._signature(edge.number)), 0, len(changes))
        values = [rows.values for rows in self.state.rows]
        return collected(self._outboxes, values, sequence, one_to_each=self.one_to_each)

    def _one_by_one(self, changes: Changes, sequence: int, write: Callable[[Outbox, Changes, int], None]) -> Messages:
        """For what looks at several edges or many subscriptions at a time: each change is written, then followed."""
        out = Outbox()
        for event in range(len(changes)):
            write(out, changes, event)
            for edge in self.state.edges:
                edge.follow(changes, self.state.members(), event, event + 1)
        values = [rows.values for rows in self.state.rows]
        return collected([out], values, sequence, one_to_each=self.one_to_each)

    def _signature(self, edge: int) -> int:
        """The signature of an edge alone."""
        signatures = self.state.shape.signatures
        return signatures.index((edge,)) if (edge,) in signatures else NOT_THERE


class EnumSJ(_ByEdges):
    """Semijoins, told to each subscription (§3.1)."""

    name, how, one_to_each = "enum-sj", ENUM_SJ, True


class RefSJSub(_ByEdges):
    """Semijoins, described by the affected subscriptions themselves (§3.2.1): the skyline of least area."""

    name, how = "ref-sj-sub", SUB


class RefSJTup(_ByEdges):
    """Semijoins, described by all joining tuples (§3.2.1)."""

    name, how = "ref-sj-tup", TUP


class RefSJClu(_ByEdges):
    """Semijoins, described by the joining tuples beside clusters' anchors (§3.2.1)."""

    name, how = "ref-sj-clu", CLU


class RefSJCluPlus(_ByEdges):
    """The same with points merged over disposable triangles (§3.2.1, App. B).

    Departs: what decides that a triangle is disposable is kept with the gap between two rows until it changes, and any
    two points with a disposable triangle are merged.
    """

    name, how = "ref-sj-clu+", CLU_PLUS


class _ByResults(_ByEdges):
    """Schemes that send join results. Two tables are joined by their edge's kernel, more of them result by result."""

    def change(self, changes: Changes) -> Messages:
        if all(len(edges) == 1 for edges in self.state.shape.signatures):
            return super().change(changes)
        return self._one_by_one(changes, self.state.begin(changes), self._write)

    def follow(self, changes: Changes) -> None:
        self.state.begin(changes)
        for edge in self.state.edges:
            edge.follow(changes, self.state.members(), 0, len(changes))

    def _write(self, out: Outbox, changes: Changes, event: int) -> None:
        write_results(out, self.state, changes, event, self.how)


class EnumJ(_ByResults):
    """Join results, told to each subscription (§2.3)."""

    name, how, one_to_each = "enum-j", ENUM_J, True


class RefJ(_ByResults):
    """Join results without selections, to whoever selects them (§2.3)."""

    name, how = "ref-j", REF_J


class RefJPlus(_ByResults):
    """Those join results that somebody selects (§2.3)."""

    name, how = "ref-j+", REF_J_PLUS


SCHEMES: dict[str, type[Scheme]] = {
    scheme.name: scheme
    for scheme in (RelSel, EnumJ, RefJ, RefJPlus, EnumSJ, RefSJSub, RefSJTup, RefSJClu, RefSJCluPlus)
}
