"""What is known of the operators of an index: for people, and for the service's console."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tamis.operators.health import Tally


@dataclass(frozen=True, slots=True)
class OperatorStatistics:
    """One operator: what it takes and costs, how it fared so far, how often it held.

    `cost` is what an evaluation costs, as declared, or learned in milliseconds (`learned`); None as long as it was
    never called. `selectivity`: the share of evaluations that held, lately (`observed`), or as declared; None where
    neither is known. `predicates`: how many different ones the subscriptions have. `suspended`: it is left alone for
    now, after too many time-outs.
    """

    name: str
    version: str
    signature: str
    about: str
    cost: float | None
    learned: bool
    selectivity: float | None
    observed: bool
    predicates: int
    suspended: bool
    tally: Tally

    def __str__(self) -> str:
        cost = "cost not known yet" if self.cost is None else f"cost {self.cost:.4g}{' ms' * self.learned}"
        held = (
            ""
            if self.selectivity is None
            else f", {'held' if self.observed else 'expected to hold'} {self.selectivity:.0%}"
        )
        failed = self.tally.failures + self.tally.timeouts + self.tally.too_large
        wrong = f", {failed:,} failed (last: {self.tally.last_failure})" if failed else ""
        state = ", suspended" if self.suspended else ""
        asked = f"{self.tally.evaluations:,} evaluation{'s' * (self.tally.evaluations != 1)}"
        return f"{self.signature}: {cost}, {asked}{held}{wrong}{state}"


class OperatorTable(Sequence[OperatorStatistics]):
    """The operators of an index at one moment, by position or by name."""

    def __init__(self, operators: Sequence[OperatorStatistics]) -> None:
        self._operators = list(operators)

    def __len__(self) -> int:
        return len(self._operators)

    def __getitem__(self, place: int | str) -> OperatorStatistics:  # type: ignore[override]
        if isinstance(place, str):
            found = next((each for each in self._operators if each.name == place), None)
            if found is None:
                raise KeyError(place)
            return found
        return self._operators[place]

    def __iter__(self) -> Iterator[OperatorStatistics]:
        return iter(self._operators)

    def __str__(self) -> str:
        return "\n".join(map(str, self._operators))
