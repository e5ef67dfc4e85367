"""How an operator fares in matching, as the pipeline process tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tamis.operators.health import OperatorStatistics, Tally


@dataclass(frozen=True, slots=True)
class Fared:
    """One operator: what was counted, and what is known of it by now.

    `cost` is what an evaluation costs, declared or learned, `selectivity` the share that held lately; None as long as
    nothing is known. `predicates`: how many different ones the subscriptions have. `suspended`: it is left alone.
    """

    tally: Tally
    cost: float | None = None
    selectivity: float | None = None
    predicates: int = 0
    suspended: bool = False

    @classmethod
    def of(cls, statistics: OperatorStatistics) -> Fared:
        """What an index or a table says."""
        held = statistics.selectivity if statistics.observed else None
        return cls(statistics.tally, statistics.cost, held, statistics.predicates, statistics.suspended)

    def after(self, earlier: Tally) -> Fared:
        """The same, with what was counted before."""
        return replace(self, tally=earlier + self.tally)

    def to_dict(self) -> dict[str, Any]:
        about = {name: getattr(self, name) for name in ("cost", "selectivity", "predicates", "suspended")}
        return about | {"tally": self.tally.to_dict()}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Fared:
        """What `to_dict` gave; TypeError if it is something else."""
        return cls(**{**form, "tally": Tally(**form["tally"])}) if "tally" in form else cls(**form)


def noticed(now: Mapping[str, Fared], before: Mapping[str, Fared]) -> dict[str, Fared]:
    """How operators fare, given how they fared a while ago: those that were left alone meanwhile are suspended.

    Each worker suspends an operator by itself, and all that the others hear of it is how often it was left alone.
    """
    return {
        name: replace(fared, suspended=fared.suspended or fared.tally.suspended > _left_alone(before.get(name)))
        for name, fared in now.items()
    }


def _left_alone(fared: Fared | None) -> int:
    return 0 if fared is None else fared.tally.suspended
