"""The paper's first algorithm, and the reading of it that was simulated."""

from __future__ import annotations

from tamis.lab.schedules.walking import Walking
from tamis.operators.schedules.kernels import NAIVE, SEQUENTIAL, STOPPING


class Sequential(Walking):
    """Algorithm 1 (Liu et al. 2007, §4.1), to the letter: an undecided subscription is taken up and *all* its
    predicates are evaluated that anybody undecided wants, even once it is decided itself.

    That is what makes it cost at most d times the optimum (Theorem 2), d being the most predicates of a subscription.
    """

    name = "sequential"
    way = SEQUENTIAL


class Stopping(Walking):
    """Algorithm 1 but for one thing: a subscription is left as soon as it is decided.

    It costs less where predicates are shared evenly, but Theorem 2 does not hold for it: subscriptions {a1, b},
    {a2, b}, … are decided by b alone, and this may evaluate every a.
    """

    name = "sequential-stopping"
    way = STOPPING


# The baseline: subscriptions by themselves, one after the other.


class Naive(Walking):
    """Every subscription up to its first predicate that fails; evaluations are remembered, eliminations are not passed
    on (Liu et al. 2007, §5.2)."""

    name = "naive"
    way = NAIVE
