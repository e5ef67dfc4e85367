"""What a snapshot's filters may call: sent along with it, small, and nothing of the subscriptions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tamis.operators import Operator
from tamis.pipeline.calling.packed import Packed


@dataclass(frozen=True, slots=True)
class Crew:
    """The operators, the file that has what was learned of them in all processes (there may be none yet), and the
    ledger that is to be told what more is learned."""

    operators: tuple[Packed, ...]
    learned: str
    ledger: str

    @classmethod
    def of(cls, operators: Iterable[Operator], learned: str, ledger: str) -> Crew:
        return cls(tuple(map(Packed.of, operators)), learned, ledger)

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal iff the operators are."""
        return tuple(packed.digest for packed in self.operators)

    def unpacked(self) -> list[Operator]:
        """In a worker: the operators themselves."""
        return [packed.operator() for packed in self.operators]
