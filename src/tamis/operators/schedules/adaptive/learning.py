"""Kernels that fit kinds of events to trails, and put them to the proof. Arrays of a trail are as in record.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import kernel
from tamis.operators.schedules.truth import TRUE, UNKNOWN


@kernel
def assign(
    offsets: Any, predicates: Any, truths: Any, weights: Any, logs: Any, shares: Any, normal: bool = True
) -> None:
    """How likely each event is of each kind, as a share, or else as the logarithm of its likelihood."""
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
    """Evaluations of each predicate, and how many held, by kind: an event counts for each as far as it is of it."""
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
    """By how much better each event's evaluations are foretold, one after the other, with kinds than without.

    In logarithms of probabilities. With kinds, each is foretold from those before it.
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
