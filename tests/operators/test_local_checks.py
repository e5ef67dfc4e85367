"""Constraints that one predicate decides, for many cases at once: as each would be by itself."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tamis.language.calls import Constraint, Moment, Variable
from tamis.operators.joining import Interval, LocalChecks
from tamis.operators.joining import test_of as holds

EDGES = (0, 1, 2, 3, 2.5, -1, 2**53, 2**53 + 1, 2**53 - 1, 1e300, -1e300)
VALUES = st.one_of(st.sampled_from((*EDGES, math.inf, -math.inf)), st.sampled_from(("x", True, False, Moment(1))))
BOUNDS = st.one_of(st.sampled_from(EDGES), st.sampled_from(("x", True, Moment(2))))
CONSTRAINTS = st.builds(Constraint, st.just(Variable("n")), st.sampled_from(("=", "!=", "<", "<=", ">", ">=")), BOUNDS)


@given(st.lists(st.lists(CONSTRAINTS, min_size=1, max_size=3), max_size=8), st.lists(VALUES, max_size=5))
def test_cases_fail_together_as_they_do_alone(asked: list[list[Constraint]], values: list[object]) -> None:
    checks = LocalChecks()
    for case, constraints in enumerate(asked):
        checks.add(case, ("n",), constraints)
    bindings = [(value,) for value in values]
    failing = set(checks.failing(bindings, lambda _: ()).tolist())  # type: ignore[arg-type]
    alone = {
        case
        for case, constraints in enumerate(asked)
        if not any(all(holds(one)({"n": v}, lambda _: ()) for one in constraints) for v in values)  # type: ignore[dict-item]
    }
    assert failing == alone


def test_removed_cases_are_not_heard_of_again() -> None:
    checks = LocalChecks()
    checks.add(1, ("n",), [Constraint(Variable("n"), ">", 5)])
    checks.add(2, ("n",), [Constraint(Variable("n"), "!=", 5)])
    assert checks.failing([(5,)], lambda _: ()).tolist() == [2, 1]
    checks.remove(1)
    checks.remove(2)
    assert not checks
    assert checks.failing([(5,)], lambda _: ()).tolist() == []


def test_comparisons_with_numbers_become_intervals() -> None:
    n = Variable("n")
    within = [Constraint(n, ">", 5), Constraint(n, "<=", 9), Constraint(n, "<", 9)]
    assert Interval.of(within) == Interval(5.0, 9.0, True, True)
    assert Interval.of([Constraint(n, "=", 5)]) == Interval(5.0, 5.0)
    assert Interval.of([Constraint(n, "!=", 5)]) is None
    assert Interval.of([Constraint(n, ">", 2**53 + 1)]) is None
