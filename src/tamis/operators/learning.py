"""What the stream has taught of each predicate: kept when schedules are built anew, saved beside the index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.operators.predicates import Predicate, Predicates

HALF_LIFE = 10_000.0
"""Events after which an observation weighs half."""
LIKELY = 0.5
COST = 1.0
"""What is believed of a predicate that nothing is known of; cost in milliseconds."""

_COUNTS = 4
_EVALUATED, _HELD, _TIMED, _SPENT = range(_COUNTS)


class Learned:
    """Observations of predicates, by number, that fade: evaluations, how many held, those timed, and milliseconds."""

    def __init__(self) -> None:
        self._counts = np.zeros((_COUNTS, 16))

    def grow(self, predicates: int) -> None:
        """Room for so many predicates."""
        if predicates > self._counts.shape[1]:
            wider = np.zeros((_COUNTS, max(predicates, 2 * self._counts.shape[1])))
            wider[:, : self._counts.shape[1]] = self._counts
            self._counts = wider

    def fade(self, events: int) -> None:
        """So many events have gone by."""
        self._counts *= 0.5 ** (events / HALF_LIFE)

    def note(self, predicates: npt.NDArray[np.int32], counts: npt.NDArray[np.float64]) -> None:
        """More of these predicates, none of which comes twice: a row each of the four counts."""
        self._counts[:, predicates] += counts

    def selectivity(self, predicates: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """How likely each is to hold; even, as long as little is known."""
        seen = self._counts[:, predicates]
        return (seen[_HELD] + 2 * LIKELY) / (seen[_EVALUATED] + 2)

    def cost(self, predicate: Predicate, beside: float = COST) -> float:
        """What an evaluation costs: as declared, or as timed; `beside` if neither is known."""
        declared = predicate.resolved.operator.cost
        if declared is not None:
            return declared
        timed, spent = self._counts[_TIMED, predicate.number], self._counts[_SPENT, predicate.number]
        # Below a tenth of a microsecond the clock says nothing, and costs must be above 0.
        return max(1e-4, float(spent / timed)) if timed >= 1 else beside

    def of_operator(self, predicates: Iterable[Predicate]) -> tuple[float | None, float | None]:
        """Over all predicates of an operator: milliseconds an evaluation, and the share that held; None: not known."""
        numbers = [predicate.number for predicate in predicates]
        evaluated, held, timed, spent = self._counts[:, numbers].sum(axis=1)
        return (float(spent / timed) if timed >= 1 else None, float(held / evaluated) if evaluated >= 1 else None)

    def to_dict(self, predicates: Predicates) -> dict[str, Any]:
        """By the text of each predicate, with its operator's version."""
        return {
            _key(predicate): [round(float(count), 6) for count in self._counts[:, predicate.number]]
            for predicate in predicates
            if self._counts[:, predicate.number].any()
        }

    def read(self, form: Mapping[str, Any], predicates: Predicates) -> None:
        """What was saved of those predicates that there are."""
        self.grow(len(predicates))
        for predicate in predicates:
            counts = form.get(_key(predicate))
            if isinstance(counts, list) and len(counts) == _COUNTS:
                self._counts[:, predicate.number] += np.array(counts, np.float64)


def _key(predicate: Predicate) -> str:
    return f"{predicate.resolved.operator.version} {predicate}"
