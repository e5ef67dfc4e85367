"""The baseline: subscriptions by themselves, one after the other."""

from __future__ import annotations

from tamis.lab.schedules.walking import Walking
from tamis.operators.schedules.kernels import NAIVE


class Naive(Walking):
    """Every subscription up to its first predicate that fails; evaluations are remembered, eliminations are not passed
    on (Liu et al. 2007, §5.2)."""

    name = "naive"
    way = NAIVE
