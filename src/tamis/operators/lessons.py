"""What events have taught of operators in one process, in a form that adds up over processes and lies on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.operators.health import Tally
from tamis.operators.predicates import Predicate

Keys: TypeAlias = npt.NDArray[np.uint64]
Counts: TypeAlias = npt.NDArray[np.float64]

COUNTS = 4
EVALUATED, HELD, TIMED, SPENT = range(COUNTS)


def key_of(predicate: Predicate) -> int:
    """The same in every process, other for another version of the operator: a hash of what the predicate is."""
    text = f"{predicate.resolved.operator.version} {predicate}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class Seen:
    """What was observed of some predicates: column i of `counts` is of the predicate `keys[i]`; keys ascend.

    The rows are evaluations that came out known, how many of these held, those that were timed, and milliseconds.
    """

    keys: Keys
    counts: Counts

    @classmethod
    def of(cls, keys: Iterable[int] | Keys, counts: Counts) -> Seen:
        """Keys in any order."""
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

    def counts_of(self, keys: Keys) -> Counts:
        """The counts of these predicates; 0 for those that were never seen."""
        if not len(self):
            return np.zeros((COUNTS, len(keys)))
        places = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
        return np.where(self.keys[places] == keys, self.counts[:, places], 0.0)


@dataclass(frozen=True, slots=True)
class Lessons:
    """What so many events have taught: observations and tallies, by operator."""

    events: int = 0
    seen: Mapping[str, Seen] = field(default_factory=dict)
    tallies: Mapping[str, Tally] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.events or self.tallies)

    def __add__(self, other: Lessons) -> Lessons:
        return Lessons(self.events + other.events, united(self.seen, other.seen), united(self.tallies, other.tallies))


def united(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both, added up where they have the same name."""
    whole = dict(one)
    for name, more in other.items():
        whole[name] = whole[name] + more if name in whole else more
    return whole
