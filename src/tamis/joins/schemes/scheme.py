"""The protocol of all schemes, and the nine by name. Sections are those of Chandramouli & Yang 2008."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Final

import numpy.typing as npt

from tamis.joins.index.edge import EdgeState
from tamis.joins.index.messages import Messages
from tamis.joins.index.ranges import Integers, Ranges, Shape
from tamis.joins.index.state import JoinState
from tamis.joins.index.tables import Changes
from tamis.lazy_registry import LazyRegistry


class Scheme(ABC):
    """A way to tell subscribers of changes. It keeps tables and subscriptions, and says what to send.

    Rows are put into `state.rows` and named in `Changes`; `change` gives the messages and leaves the tables changed.
    All schemes take the same and leave every client with the same content.
    """

    name: ClassVar[str]
    edge: ClassVar[type[EdgeState]] = EdgeState
    """What a scheme keeps of each edge."""

    def __init__(self, shape: Shape) -> None:
        self.state = JoinState(shape, self.edge)

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


SCHEMES: Final[LazyRegistry[type[Scheme]]] = LazyRegistry(
    {
        "rel-sel": "tamis.joins.schemes.rel_sel:RelSel",
        "enum-j": "tamis.joins.schemes.enum_j:EnumJ",
        "ref-j": "tamis.joins.schemes.ref_j:RefJ",
        "ref-j+": "tamis.joins.schemes.ref_j:RefJPlus",
        "enum-sj": "tamis.joins.schemes.enum_sj:EnumSJ",
        "ref-sj-sub": "tamis.joins.schemes.ref_sj:RefSJSub",
        "ref-sj-tup": "tamis.joins.schemes.ref_sj:RefSJTup",
        "ref-sj-clu": "tamis.joins.schemes.ref_sj:RefSJClu",
        "ref-sj-clu+": "tamis.joins.schemes.ref_sj_clu_plus:RefSJCluPlus",
    }
)
"""Schemes by name. Each is loaded, and its kernels are compiled, when it is first asked for."""
