"""Workload of subscriptions over expensive predicates: the generator of Liu et al. 2007 (P0), Table 1, and its points.

The table leaves selectivities open: it says only that an event matches 0.2% of the subscriptions. Either every
predicate has a selectivity of its own, for the paper orders predicates by it: `"own"`, drawn uniformly from 0 to what
gives 0.2%; or `"whole"`, drawn from the whole of [0, 1], most of them low (a power of a uniform number, again such that
it is 0.2%). Or all have the same: `"equal"`, where there is nothing to order by; `"typical"` is the same but such that
0.2% is the chance of a subscription of mean length, so that over all, for the short ones, it is more.

Costs are equal in the paper; `costs="spread"` draws them from 1 to 100, log-uniformly. Predicates are independent in
the paper; with `kinds`, events come in so many kinds, each predicate belongs to one of them and holds mostly there, as
often over all events as if it were independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, Int32s, Int64s

_BISECTIONS = 60
_STREAM = 1 << 32  # events are drawn from seeds of their own, so that any of them can be had without those before


@dataclass(frozen=True)
class Parameters:
    """Row of Table 1. `alpha` is Zipf's exponent of the predicates' popularity; None: uniform weights on [0, 1]."""

    subscriptions: int
    predicates: int
    alpha: float | None = None
    shortest: int = 3
    longest: int = 5
    matched: float = 0.002
    selectivities: Literal["own", "whole", "equal", "typical"] = "own"
    costs: Literal["equal", "spread"] = "equal"
    kinds: int = 1
    seed: int = 1


@dataclass(frozen=True)
class ExpensiveOperators:
    """Subscriptions over predicates: s wants `members[offsets[s] : offsets[s + 1]]`, in random order.

    Predicates hold independently of each other, each with its `selectivity`. Their numbers say nothing of their
    popularity.
    """

    parameters: Parameters
    offsets: Int64s
    members: Int32s
    selectivity: Floats
    cost: Floats

    def truths(self, events: int, first: int = 0, selectivity: Floats | None = None) -> npt.NDArray[np.int8]:
        """Truths of predicates in the events from number `first` on: a row an event, 1 where one holds.

        The same event has the same random numbers whatever the selectivities, which may be others than the workload's.
        """
        overall = self.selectivity if selectivity is None else selectivity
        at_home, elsewhere = _by_kind(overall, self.parameters.kinds)
        home = np.arange(len(overall)) % self.parameters.kinds
        out = np.empty((events, len(overall)), np.int8)
        for row in range(events):
            rng = np.random.default_rng([self.parameters.seed, _STREAM + first + row])
            chances = np.where(home == rng.integers(self.parameters.kinds), at_home, elsewhere)
            out[row] = rng.random(len(overall), np.float32) < chances
        return out


def expensive_operators(parameters: Parameters) -> ExpensiveOperators:
    """Generates the workload, deterministic in its parameters."""
    rng = np.random.default_rng(parameters.seed)
    weights = _popularity(parameters, rng)
    lengths = rng.integers(parameters.shortest, parameters.longest + 1, parameters.subscriptions)
    members = _without_repetition(rng, weights, lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    selectivity = _selectivities(parameters, rng.random(parameters.predicates), offsets, members)
    cost = np.ones(parameters.predicates)
    if parameters.costs == "spread":
        cost = 100.0 ** rng.random(parameters.predicates)
    return ExpensiveOperators(parameters, offsets, members, selectivity, cost)


def figure(number: int, **changed: object) -> list[Parameters]:
    """Points of figure 4, 5, 6, 7 or 8, in the paper's order; keywords change parameters of all of them."""
    return [replace(point, **changed) for point in FIGURES[number]()]  # type: ignore[arg-type]


SUBSCRIPTIONS = (2_000, 5_000, 10_000, 20_000, 40_000, 60_000, 80_000)
PREDICATES = (2_000, 5_000, 10_000, 15_000, 20_000, 25_000, 30_000)

FIGURES: dict[int, Callable[[], list[Parameters]]] = {
    4: lambda: [Parameters(count, 40_000) for count in SUBSCRIPTIONS],
    5: lambda: [Parameters(count, 40_000, alpha=1.0) for count in SUBSCRIPTIONS],
    6: lambda: [Parameters(20_000, count, alpha=1.0) for count in PREDICATES],
    7: lambda: [Parameters(20_000, 5_000, alpha=1.0, longest=length) for length in (5, 7, 9, 11)],
    8: lambda: [Parameters(20_000, 5_000, alpha=alpha) for alpha in (None, 0.8, 1.0, 1.2)],
}


def _by_kind(selectivity: Floats, kinds: int) -> tuple[Floats, Floats]:
    """Probabilities of predicates in events of their own kind and of another, given those over all."""
    if kinds == 1:
        return selectivity, selectivity
    at_home = np.minimum(np.maximum(0.95, selectivity), 0.9 * kinds * selectivity)
    return at_home, (kinds * selectivity - at_home) / (kinds - 1)


def _popularity(parameters: Parameters, rng: np.random.Generator) -> Floats:
    if parameters.alpha is None:
        return rng.random(parameters.predicates)
    ranks = rng.permutation(parameters.predicates) + 1.0
    return np.asarray(ranks**-parameters.alpha)


def _without_repetition(rng: np.random.Generator, weights: Floats, lengths: Int64s) -> Int32s:
    """Distinct numbers for each length, drawn by weight one by one, a repeated one drawn again."""
    edges = np.cumsum(weights) / weights.sum()
    owners = np.repeat(np.arange(len(lengths)), lengths)
    drawn = np.full(len(owners), -1, np.int64)
    missing = np.arange(len(owners))
    while len(missing):
        drawn[missing] = np.searchsorted(edges, rng.random(len(missing))).clip(0, len(weights) - 1)
        order = np.lexsort((drawn, owners))  # stable: of equals the one drawn for the earlier place is first
        same = (np.diff(owners[order]) == 0) & (np.diff(drawn[order]) == 0)
        missing = np.sort(order[1:][same])
    shuffled = np.lexsort((rng.random(len(owners)), owners))
    return drawn[shuffled].astype(np.int32)


def _selectivities(parameters: Parameters, uniform: Floats, offsets: Int64s, members: Int32s) -> Floats:
    """Selectivities by the parameters, such that the share of subscriptions that match is right on average."""
    if parameters.selectivities == "typical":
        return np.full(len(uniform), parameters.matched ** (1 / np.diff(offsets).mean()))
    shape = np.ones(len(uniform)) if parameters.selectivities == "equal" else uniform

    def drawn(height: float) -> Floats:
        if parameters.selectivities == "whole":
            return np.asarray(shape ** (1 / height))
        return np.minimum(1.0, shape * height)

    def share(height: float) -> float:
        with np.errstate(divide="ignore"):
            logs = np.log(drawn(height))[members]
        return float(np.exp(np.add.reduceat(logs, offsets[:-1])).mean())

    low, high = 0.0, 1.0
    while share(high) < parameters.matched:
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) < parameters.matched else (low, middle)
    return drawn(high)
