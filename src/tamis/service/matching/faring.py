"""How an operator fares in matching, as the pipeline process tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tamis.operators.health import Tally


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
