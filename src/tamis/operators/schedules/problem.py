"""Scheduling problem: predicates with their costs and selectivities, and subscriptions as sets of predicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.arrays import Floats, Int32s, Int64s
from tamis.compiled import bare_kernel, inlined_kernel
from tamis.errors import TamisError

MOST_MEMBERS = 60_000  # a subscription's count of open predicates is kept in 16 bits


@dataclass(frozen=True)
class Problem:
    """Subscriptions over distinct predicates, each a number from 0 (Liu et al. 2007, §3). Arrays are not to be changed.

    Predicate t costs `cost[t]` to evaluate, in any unit, and holds with probability `selectivity[t]` as far as is
    known beforehand. Subscription s wants all of `members[offsets[s] : offsets[s + 1]]`: at least one, none twice.
    """

    cost: Floats
    selectivity: Floats
    offsets: Int64s
    members: Int32s

    def __post_init__(self) -> None:
        if len(self.cost) != len(self.selectivity):
            raise TamisError(f"{len(self.cost)} costs for {len(self.selectivity)} selectivities; give as many of both")
        check_costs(self.cost)
        check_selectivities(self.selectivity)
        lengths = np.diff(self.offsets)
        if len(lengths) and lengths.min() < 1:
            empty = int(np.argmin(lengths))
            raise TamisError(f"subscription {empty} has no predicate; what has none needs no schedule")
        if len(lengths) and lengths.max() > MOST_MEMBERS:
            raise TamisError(f"subscription {int(np.argmax(lengths))} has more than {MOST_MEMBERS:,} predicates")
        if len(self.members) and not (self.members.min() >= 0 and self.members.max() < self.predicates):
            raise TamisError(f"a subscription names a predicate that is not among the {self.predicates}")
        owner = np.repeat(np.arange(self.subscriptions), lengths)
        order = np.lexsort((self.members, owner))
        twice = (np.diff(owner[order]) == 0) & (np.diff(self.members[order]) == 0)
        if twice.any():
            raise TamisError(f"subscription {owner[order][1:][twice][0]} names a predicate twice; name it once")

    @property
    def predicates(self) -> int:
        return len(self.cost)

    @property
    def subscriptions(self) -> int:
        return len(self.offsets) - 1

    @property
    def longest(self) -> int:
        """The paper's d: the most predicates that a subscription has."""
        return int(np.diff(self.offsets).max(initial=0))

    @classmethod
    def of(
        cls,
        subscriptions: Sequence[Sequence[int]],
        selectivity: Sequence[float] | Floats,
        cost: Sequence[float] | Floats | None = None,
    ) -> Problem:
        """Problem of lists of predicates; costs are 1 where none are given."""
        lengths = [len(members) for members in subscriptions]
        return cls(
            np.ones(len(selectivity)) if cost is None else np.asarray(cost, np.float64),
            np.asarray(selectivity, np.float64),
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
            np.array([member for members in subscriptions for member in members], np.int32),
        )

    def subscription(self, number: int) -> Int32s:
        return self.members[self.offsets[number] : self.offsets[number + 1]]


def check_costs(cost: Floats) -> None:
    if not np.all((cost > 0) & np.isfinite(cost)):
        raise TamisError("a predicate's cost is a number above 0")


def check_selectivities(selectivity: Floats) -> None:
    if not np.all((selectivity >= 0) & (selectivity <= 1)):
        raise TamisError("a predicate's selectivity is the probability that it holds, from 0 to 1")


# State of a predicate, and of a subscription, on one event.

NOT_ASKED = -1
FALSE = 0
TRUE = 1
UNKNOWN = 2
"""The operator failed: whatever wants the predicate does not match, all else goes on, and nothing is learned of it."""

# Of a subscription: so many predicates open and all others true, or one of these.
DECIDED = 0  # against it, or it was never in question
MATCHED = 65_535


@inlined_kernel
def undecided(left: int) -> bool:
    """True if a subscription has open predicates left."""
    return left != DECIDED and left != MATCHED


@bare_kernel
def matched(left: Any, base: int, some: Any, begin: int, end: int, out: Any, written: int) -> int:
    """Writes those of the listed subscriptions that match; returns how many are written in all."""
    for i in range(begin, end):
        if left[base + some[i]] == MATCHED:
            out[written] = some[i]
            written += 1
    return written
