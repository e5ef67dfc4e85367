"""Schemes that go through the changes edge by edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tamis.joins.index.messages import Messages
from tamis.joins.index.outbox import Outbox
from tamis.joins.index.ranges import NOT_THERE, Shape
from tamis.joins.index.tables import Changes
from tamis.joins.schemes.collecting import collected
from tamis.joins.schemes.scheme import Scheme


class ByEdges(Scheme):
    """Schemes that go through the changes edge by edge: no edge needs to know of another.

    `kernel` writes what changes mean on one edge, and has it follow them. Each scheme has its own, so that only what is
    used is compiled. With `one_to_each` all that a change means to a subscription is one message.
    """

    kernel: ClassVar[Any]
    one_to_each: ClassVar[bool] = False

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self._outboxes = [Outbox() for _ in shape.edges]

    def change(self, changes: Changes) -> Messages:
        sequence = self.state.begin(changes)
        for edge, out in zip(self.state.edges, self._outboxes, strict=True):
            out.clear()
            edge.run(self.kernel, out, changes, self.state.members(self._signature(edge.number)))
        values = [rows.values for rows in self.state.rows]
        return collected(self._outboxes, values, sequence, one_to_each=self.one_to_each)

    def one_by_one(self, changes: Changes, write: Callable[[Outbox, Changes, int], None]) -> Messages:
        """For what looks at several edges or many subscriptions at a time: each change is written, then followed."""
        sequence, out = self.state.begin(changes), Outbox()
        for event in range(len(changes)):
            write(out, changes, event)
            for edge in self.state.edges:
                edge.follow(changes, event, event + 1)
        values = [rows.values for rows in self.state.rows]
        return collected([out], values, sequence, one_to_each=self.one_to_each)

    def _signature(self, edge: int) -> int:
        """The signature of an edge alone."""
        signatures = self.state.shape.signatures
        return signatures.index((edge,)) if (edge,) in signatures else NOT_THERE
