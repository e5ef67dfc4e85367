"""Latent classes of events (kinds), fitted by EM: the truth of one predicate foretells others'."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats
from tamis.compiled import kernel
from tamis.operators.schedules.problem import TRUE, UNKNOWN
from tamis.operators.schedules.running import Trail

# Kernels that fit kinds of events to trails, and test their predictions. Arrays of a trail are those of `Trail`.


@kernel
def assign(
    offsets: Any, predicates: Any, truths: Any, weights: Any, logs: Any, shares: Any, normal: bool = True
) -> None:
    """Likelihood of each event by kind, as a share, or else as its logarithm."""
    kinds = len(weights)
    for e in range(len(offsets) - 1):
        for k in range(kinds):
            shares[e, k] = weights[k]
        for i in range(offsets[e], offsets[e + 1]):
            if truths[i] != UNKNOWN:
                for k in range(kinds):
                    shares[e, k] += logs[predicates[i], k, truths[i]]
        if normal:
            top = shares[e].max()
            total = 0.0
            for k in range(kinds):
                shares[e, k] = np.exp(shares[e, k] - top)
                total += shares[e, k]
            for k in range(kinds):
                shares[e, k] /= total


@kernel
def tally(offsets: Any, predicates: Any, truths: Any, shares: Any, seen: Any, held: Any) -> None:
    """Counts evaluations of each predicate, and those that held, by kind, an event weighed by its shares of kinds."""
    for e in range(len(offsets) - 1):
        for i in range(offsets[e], offsets[e + 1]):
            if truths[i] == UNKNOWN:
                continue
            for k in range(shares.shape[1]):
                seen[predicates[i], k] += shares[e, k]
                if truths[i] == TRUE:
                    held[predicates[i], k] += shares[e, k]


@kernel
def foretell(
    offsets: Any, predicates: Any, truths: Any, weights: Any, chances: Any, logs: Any, selectivity: Any, gains: Any
) -> None:
    """Log-likelihood gain of kinds: how much better each event's evaluations are foretold with kinds than without.

    With kinds, each evaluation is foretold from those before it.
    """
    kinds = len(weights)
    likelihood, share = np.empty(kinds), np.empty(kinds)
    for e in range(len(offsets) - 1):
        likelihood[:] = weights
        gains[e] = 0.0
        for i in range(offsets[e], offsets[e + 1]):
            t = predicates[i]
            if truths[i] == UNKNOWN:
                continue
            top = likelihood.max()
            total, holds = 0.0, 0.0
            for k in range(kinds):
                share[k] = np.exp(likelihood[k] - top)
                total += share[k]
                holds += share[k] * chances[t, k]
            with_kinds = holds / total
            if truths[i] == TRUE:
                gains[e] += np.log(with_kinds) - np.log(selectivity[t])
            else:
                gains[e] += np.log(1 - with_kinds) - np.log(1 - selectivity[t])
            for k in range(kinds):
                likelihood[k] += logs[t, k, truths[i]]


COUNT = 8
WINDOW = 256  # events from which kinds are learned
PLACES = 2_000_000  # evaluations of them, at most
ROUNDS_FIRST, ROUNDS_LATER = 12, 3  # of expectation and maximisation
PRIOR = 2.0  # evaluations that a predicate's selectivity over all kinds counts in each of them
BETWEEN, BETWEEN_MOST = 64, 2048  # events from one fitting to the next; rarer where kinds prove of no use
FADING = 0.98  # of an earlier event's weight in the proof, a later event


class Expectation(NamedTuple):
    """Expectations of the predicates as kernels need them, for any event and for each kind of event.

    `weights[k]`: the logarithm of how frequent kind k is. `fails[t, k]`: how likely predicate t is to fail in it,
    `logs[t, k, v]`: the logarithm of how likely it is to have the value v. `rate[t]` is (1 - selectivity) / cost over
    all kinds. With a single kind only `rate` is used. `usual_length`: how many predicates a subscription has.
    """

    rate: npt.NDArray[np.float32]
    cost: Floats
    weights: Floats
    fails: npt.NDArray[np.float32]
    logs: npt.NDArray[np.float32]
    usual_length: float


class Kinds:
    """Latent classes: in events of one kind predicates hold independently, each kind with selectivities of its own.

    Fitted by expectation and maximisation to the trails of recent events. Used only while it proves its worth: each
    new event is foretold, evaluation by evaluation, with kinds and without, before anything is learned from it; kinds
    count as long as they foretell better. So where predicates are independent, nothing is made of chance.
    """

    def __init__(self) -> None:
        self._window = Trail.none()
        self._weights: Floats | None = None
        self._chances = np.empty((0, COUNT), np.float32)
        self._new, self._between = 0, BETWEEN
        self._events = self._gain = self._square = 0.0

    @property
    def useful(self) -> bool:
        """True if kinds foretold better than no kinds, beyond chance."""
        if self._weights is None or self._events < 8:
            return False
        mean = self._gain / self._events
        spread = max(0.0, self._square / self._events - mean**2)
        return mean > 2 * np.sqrt(spread / self._events)

    def learn(self, sample: Trail, selectivity: Floats) -> None:
        """Learns from the trails of some new events, given the beliefs in the predicates over all kinds."""
        if not sample.events:
            return
        if self._weights is not None and len(self._chances) == len(selectivity):
            self._prove(sample, selectivity)
        recent = Trail.joined([self._window, sample]).last(WINDOW)
        while len(recent.predicates) > PLACES and recent.events > 1:
            recent = recent.last(recent.events // 2)
        self._window = recent
        self._new += sample.events
        if self._new >= min(self._between, recent.events) and recent.events >= 2 * COUNT:
            self._fit(selectivity)
            self._new = 0
            self._between = BETWEEN if self.useful else min(2 * self._between, BETWEEN_MOST)

    def expectation(self, selectivity: Floats, cost: Floats, usual_length: float) -> Expectation:
        """Expectation with kinds if they are of use, else as if all events were of one kind."""
        rate = ((1 - selectivity) / cost).astype(np.float32)
        if not self.useful or self._weights is None or len(self._chances) != len(selectivity):
            size = len(selectivity)
            nothing = np.zeros((size, 1), np.float32), np.zeros((size, 1, 2), np.float32)
            return Expectation(rate, cost, np.zeros(1), *nothing, usual_length)
        return Expectation(rate, cost, self._weights, 1 - self._chances, _logs(self._chances), usual_length)

    def _prove(self, sample: Trail, selectivity: Floats) -> None:
        assert self._weights is not None
        gains = np.empty(sample.events)
        foretell(*_arrays(sample), self._weights, self._chances, _logs(self._chances), selectivity, gains)
        for gain in gains.tolist():
            self._events = FADING * self._events + 1
            self._gain = FADING * self._gain + gain
            self._square = FADING * self._square + gain**2

    def _fit(self, selectivity: Floats) -> None:
        window, size = self._window, len(selectivity)
        rounds = ROUNDS_LATER
        if self._weights is None or len(self._chances) != size:
            self._weights = np.full(COUNT, -np.log(COUNT))
            self._chances = _seeds(window, selectivity)
            rounds = ROUNDS_FIRST
        shares = np.empty((window.events, COUNT))
        for _ in range(rounds):
            assign(*_arrays(window), self._weights, _logs(self._chances), shares)
            seen = np.zeros((size, COUNT), np.float32)
            held = np.zeros((size, COUNT), np.float32)
            tally(*_arrays(window), shares, seen, held)
            self._weights = np.log((shares.sum(axis=0) + 1) / (window.events + COUNT))
            self._chances = (held + PRIOR * selectivity[:, None]) / (seen + PRIOR)
            self._chances = self._chances.clip(0.0005, 0.9995).astype(np.float32)


def _arrays(trail: Trail) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    return trail.offsets, trail.predicates, trail.truths


def _logs(chances: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return np.log(np.stack([1 - chances, chances], axis=2))


def _seeds(window: Trail, selectivity: Floats) -> npt.NDArray[np.float32]:
    """Initial kinds, each around an event that is unlike the others: next is the one that they foretell worst."""
    size = len(selectivity)
    chances = np.repeat(selectivity[:, None], COUNT, axis=1).astype(np.float32)
    alone = np.zeros((window.events, 1))
    worst = np.full(window.events, -np.inf)
    chosen = 0
    for kind in range(COUNT):
        part = slice(window.offsets[chosen], window.offsets[chosen + 1])
        rows, values = window.predicates[part], window.truths[part]
        known = values <= 1
        chances[rows[known], kind] = (values[known] + PRIOR * selectivity[rows[known]]) / (1 + PRIOR)
        like = chances[:, kind : kind + 1].clip(0.0005, 0.9995)
        plain = selectivity[:, None].astype(np.float32).clip(0.0005, 0.9995)
        likelihoods = []
        for each in (like, plain):
            assign(*_arrays(window), np.zeros(1), _logs(each), alone, False)
            likelihoods.append(alone[:, 0].copy())
        worst = np.maximum(worst, likelihoods[0] - likelihoods[1])
        chosen = int(np.argmin(worst))
    assert chances.shape == (size, COUNT)
    return chances.clip(0.0005, 0.9995)
