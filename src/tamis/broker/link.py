"""One link to a neighbour, as long as the broker runs: sessions come and go, the link stays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tamis.broker.messages import Active, Table

Owed: TypeAlias = tuple[Literal["change", "value"], int]
"""What a neighbour has to answer: the change after so many, or the question of this number."""


@dataclass(slots=True)
class Link:
    """A neighbour. `connection` is the one that speaks for it now, None while there is none.

    The link is open while both ends have last told the same view of the overlay (`told` and `active.view`); only then
    filters and events go over it. `number` counts the changes of what is forwarded, whether sent or not.
    """

    name: str
    connection: int | None = None
    told: str | None = None
    active: Active | None = None
    open: bool = False
    number: int = 0
    applied: int = 0  # of ours, by the neighbour
    owed: dict[Owed, float] = field(default_factory=dict)  # and since when
    received: int = 0  # position of the last events that came
    epoch: str = ""
    heard: int | None = None  # number of the last change that came; None until the table did
    parts: list[Table] = field(default_factory=list)  # of a table that is not complete yet
    resets: int = 0
    sessions: int = 0
    address: str | None = None

    @property
    def hop(self) -> str:
        return f"link:{self.name}"

    def disconnect(self) -> None:
        self.connection = self.told = self.active = self.heard = None
        self.open = False
        self.parts.clear()
        self.owed.clear()


def neighbour(hop: str) -> str:
    """Neighbour at the other end of a hop."""
    return hop.partition(":")[2]
