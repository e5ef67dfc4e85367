"""Schemes that send semijoins (Chandramouli & Yang 2008, §3)."""

from __future__ import annotations

from typing import ClassVar

from tamis.joins.index.edge import EdgeState
from tamis.joins.index.envelopes import Description, EnvelopeWriter
from tamis.joins.index.messages import Messages
from tamis.joins.index.ranges import Shape
from tamis.joins.index.semijoin_edge import SemijoinEdge
from tamis.joins.index.tables import Changes
from tamis.joins.schemes.by_edges import ByEdges


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
