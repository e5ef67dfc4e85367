"""Schemes that send semijoins (Chandramouli & Yang 2008, §3)."""

from __future__ import annotations

from typing import ClassVar

from tamis.joins.edges.edge import EdgeState
from tamis.joins.envelopes.writing import Description, EnvelopeWriter
from tamis.joins.ranges import Shape
from tamis.joins.schemes.by_edges import ByEdges
from tamis.joins.schemes.messages import Messages
from tamis.joins.semijoins.edge import SemijoinEdge
from tamis.joins.tables import Changes


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
