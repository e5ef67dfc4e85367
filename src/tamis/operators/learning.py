"""Learned costs and selectivities of operators and predicates: kept across schedules, merged, saved with the index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, UInt64s
from tamis.operators.health import Tally
from tamis.operators.predicates import Predicate, Predicates

# Observations of operators in one process, in a form that adds up over processes and is saved on disk.


COUNTS = 4
EVALUATED, HELD, TIMED, SPENT = range(COUNTS)


def key_of(predicate: Predicate) -> int:
    """Stable key of a predicate, equal in every process, different for another version of the operator: a hash."""
    text = f"{predicate.resolved.operator.version} {predicate}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class Seen:
    """Observations of some predicates: column i of `counts` is of the predicate `keys[i]`; keys ascend.

    The rows are evaluations that came out known, how many of these held, those that were timed, and milliseconds.
    """

    keys: UInt64s
    counts: Floats

    @classmethod
    def of(cls, keys: Iterable[int] | UInt64s, counts: Floats) -> Seen:
        """Observations with keys in any order."""
        listed = np.asarray(keys, np.uint64)
        order = np.argsort(listed)
        return cls(listed[order], counts[:, order])

    def __len__(self) -> int:
        return len(self.keys)

    def __add__(self, other: Seen) -> Seen:
        keys, places = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.zeros((COUNTS, len(keys)))
        counts[:, places[: len(self)]] += self.counts
        counts[:, places[len(self) :]] += other.counts
        return Seen(keys, counts)

    def faded(self, factor: float) -> Seen:
        return Seen(self.keys, self.counts * factor)

    def counts_of(self, keys: UInt64s) -> Floats:
        """Counts of these predicates; 0 for those that were never seen."""
        if not len(self):
            return np.zeros((COUNTS, len(keys)))
        places = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
        return np.where(self.keys[places] == keys, self.counts[:, places], 0.0)


@dataclass(frozen=True, slots=True)
class Lessons:
    """Observations and tallies of some events, by operator, to be sent to other processes."""

    events: int = 0
    seen: Mapping[str, Seen] = field(default_factory=dict)
    tallies: Mapping[str, Tally] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.events or self.tallies)

    def __add__(self, other: Lessons) -> Lessons:
        return Lessons(self.events + other.events, united(self.seen, other.seen), united(self.tallies, other.tallies))


def united(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Sums of both, by name."""
    whole = dict(one)
    for name, more in other.items():
        whole[name] = whole[name] + more if name in whole else more
    return whole


HALF_LIFE = 10_000.0
"""Events after which an observation weighs half."""
LIKELY = 0.5
COST = 1.0
"""Prior of a predicate of which nothing is known or declared; cost in milliseconds."""
DECLARED = 2.0
"""Weight of the prior of a predicate's selectivity, as a count of evaluations."""


class Learned:
    """Observations of predicates, by number, that fade: evaluations, how many held, those timed, and milliseconds.

    `_fresh` are those of this process that were not told to others yet, and do not fade; `lived` is how many events
    this process has learned from itself.
    """

    def __init__(self) -> None:
        self._counts = np.zeros((COUNTS, 16))
        self._fresh = np.zeros((COUNTS, 16))
        self._untold = 0
        self.lived = 0
        self._keys: list[int] = []

    def grow(self, predicates: int) -> None:
        """Makes room for so many predicates."""
        if predicates > self._counts.shape[1]:
            more = max(predicates, 2 * self._counts.shape[1]) - self._counts.shape[1]
            self._counts, self._fresh = (np.pad(some, ((0, 0), (0, more))) for some in (self._counts, self._fresh))

    def fade(self, events: int) -> None:
        """Fades all counts by so many events."""
        self._counts *= faded(events)
        self._untold += events
        self.lived += events

    def note(self, predicates: npt.NDArray[np.int32], counts: npt.NDArray[np.float64]) -> None:
        """Adds counts of these predicates, none of which comes twice: a row each of the four counts."""
        self._counts[:, predicates] += counts
        self._fresh[:, predicates] += counts

    def fresh(self, predicates: Predicates) -> tuple[int, dict[str, Seen]]:
        """Count of events since the last call of this, and their observations, by operator."""
        events, self._untold = self._untold, 0
        seen = self._seen(self._fresh, predicates)
        self._fresh[:] = 0
        return events, seen

    def seen(self, predicates: Predicates) -> dict[str, Seen]:
        """Observations by operator."""
        return self._seen(self._counts, predicates)

    def take(self, events: int, seen: Mapping[str, Seen], predicates: Predicates) -> None:
        """Adds the observations of so many events elsewhere."""
        self._counts *= faded(events)
        self._counts[:, : len(predicates)] += self._taken(seen, predicates)

    def replace(self, seen: Mapping[str, Seen], predicates: Predicates) -> None:
        """Replaces all observations by these."""
        self._counts[:] = 0
        self._counts[:, : len(predicates)] = self._taken(seen, predicates)

    def _seen(self, counts: npt.NDArray[np.float64], predicates: Predicates) -> dict[str, Seen]:
        keys = self._known_keys(predicates)
        by_operator: dict[str, list[int]] = {}
        for number in np.flatnonzero(counts[:, : len(keys)].any(axis=0)).tolist():
            by_operator.setdefault(predicates[number].name, []).append(number)
        return {name: Seen.of(keys[numbers], counts[:, numbers]) for name, numbers in by_operator.items()}

    def _taken(self, seen: Mapping[str, Seen], predicates: Predicates) -> npt.NDArray[np.float64]:
        self.grow(len(predicates))
        keys = self._known_keys(predicates)
        # A key is a hash over the operator too: no two operators have one in common.
        return sum((some.counts_of(keys) for some in seen.values()), np.zeros((COUNTS, len(keys))))

    def _known_keys(self, predicates: Predicates) -> npt.NDArray[np.uint64]:
        self._keys += [key_of(predicates[number]) for number in range(len(self._keys), len(predicates))]
        return np.array(self._keys, np.uint64)

    def selectivity(self, predicates: Sequence[Predicate]) -> npt.NDArray[np.float64]:
        """Selectivity of each predicate; as declared, or even, as long as little is known."""
        seen = self._counts[:, [predicate.number for predicate in predicates]]
        declared = (predicate.resolved.operator.selectivity for predicate in predicates)
        expected = np.array([LIKELY if one is None else one for one in declared], np.float64)
        return (seen[HELD] + DECLARED * expected) / (seen[EVALUATED] + DECLARED)

    def cost(self, predicate: Predicate, beside: float = COST) -> float:
        """Cost of an evaluation: as declared, or as timed; `beside` if neither is known."""
        declared = predicate.resolved.operator.cost
        if declared is not None:
            return declared
        timed, spent = self._counts[TIMED, predicate.number], self._counts[SPENT, predicate.number]
        # Below a tenth of a microsecond the clock says nothing, and costs must be above 0.
        return max(1e-4, float(spent / timed)) if timed >= 1 else beside

    def of_operator(self, predicates: Iterable[Predicate]) -> tuple[float | None, float | None]:
        """Milliseconds per evaluation of an operator, over its predicates, and the share that held; None: not known."""
        numbers = [predicate.number for predicate in predicates]
        evaluated, held, timed, spent = self._counts[:, numbers].sum(axis=1)
        return (float(spent / timed) if timed >= 1 else None, float(held / evaluated) if evaluated >= 1 else None)

    def to_dict(self, predicates: Predicates) -> dict[str, Any]:
        """JSON form by the text of each predicate, with its operator's version."""
        self.grow(len(predicates))
        return {
            _key(predicate): [round(float(count), 6) for count in self._counts[:, predicate.number]]
            for predicate in predicates
            if self._counts[:, predicate.number].any()
        }

    def read(self, form: Mapping[str, Any], predicates: Predicates) -> None:
        """Reads saved observations of those predicates that are present."""
        self.grow(len(predicates))
        for predicate in predicates:
            counts = form.get(_key(predicate))
            if isinstance(counts, list) and len(counts) == COUNTS:
                self._counts[:, predicate.number] += np.array(counts, np.float64)


def faded(events: int) -> float:
    """Factor that remains of an observation after so many events."""
    return float(0.5 ** (events / HALF_LIFE))


def _key(predicate: Predicate) -> str:
    return f"{predicate.resolved.operator.version} {predicate}"
