"""Bindings joined across predicates: by brute force, by plan, and where it would never end."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language.call_rewrites import Case
from tamis.language.calls import Arithmetic, Call, Constraint, Variable
from tamis.operators import joining
from tamis.operators.guards import Shape
from tamis.operators.joining import Substitutions, TooLargeError, plan
from tamis.operators.naive import constraint_holds
from tamis.operators.predicates import variables_in_order
from tamis.operators.values import key_of
from tests.operators.places import SCHEMA

NAMES = ("a", "b", "c", "d")
VALUES = st.sampled_from((0, 1, 1.0, 2, "x", True))


@st.composite
def joins(draw: st.DrawFn) -> tuple[list[Call], list[Constraint], list[list[Any]]]:
    """Calls over few variables, constraints on them, and bindings for each call."""
    calls, bindings = [], []
    for number in range(draw(st.integers(1, 4))):
        names = draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
        calls.append(Call(f"p{number}", tuple(map(Variable, names))))
        rows = draw(st.lists(st.tuples(*[VALUES] * len(names)), min_size=1, max_size=5))
        bindings.append(
            sorted({tuple(map(key_of, row)): row for row in rows}.values(), key=lambda r: [*map(key_of, r)])
        )
    bound = sorted({name for call in calls for name in variables_in_order(call)})
    constraints = []
    if bound:
        side = st.sampled_from([Variable(name) for name in bound])
        for _ in range(draw(st.integers(0, 3))):
            right = draw(st.one_of(side, st.just(1), st.builds(Arithmetic, st.sampled_from("+*"), side, st.just(1))))
            constraints.append(Constraint(draw(side), draw(st.sampled_from(("=", "!=", "<", ">="))), right))
    return calls, constraints, bindings


def by_force(calls: list[Call], constraints: list[Constraint], bindings: list[list[Any]]) -> list[dict[str, Any]]:
    found: dict[Any, dict[str, Any]] = {}
    for rows in product(*bindings):
        bound: dict[str, Any] = {}
        agree = True
        for call, row in zip(calls, rows, strict=True):
            for name, value in zip(variables_in_order(call), row, strict=True):
                agree &= key_of(bound.setdefault(name, value)) == key_of(value)
        if agree and all(constraint_holds(one, False, bound, {}, SCHEMA) for one in constraints):
            found[tuple((name, key_of(bound[name])) for name in sorted(bound))] = bound
    return [found[key] for key in sorted(found)]


@given(joins())
def test_a_plan_finds_what_trying_everything_finds(
    case: tuple[list[Call], list[Constraint], list[list[Any]]],
) -> None:
    calls, constraints, bindings = case
    written = {name: name for call in calls for name in variables_in_order(call)}
    found = plan(calls, constraints, written).substitutions(bindings, lambda _: ())
    wanted = by_force(calls, constraints, bindings)
    assert (found is not None) == bool(wanted)
    if found is not None:
        assert found.count == len(wanted)
        keys = {name: key_of(value) for name, value in found.first.items()}
        assert keys == {name: key_of(value) for name, value in wanted[0].items()}


def call(name: str, *names: str) -> Call:
    return Call(name, tuple(map(Variable, names)))


def test_what_is_not_connected_is_not_multiplied_out() -> None:
    many = [(number,) for number in range(1_000)]
    join = plan([call("p", "a"), call("q", "b"), call("r", "c")], [], {"a": "a", "b": "b", "c": "c"})
    assert join.substitutions([many] * 3, lambda _: ()) == Substitutions({"a": 0, "b": 0, "c": 0}, 10**9)
    assert not join.joins


def test_a_join_that_would_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_STEPS", 10_000)
    many = [(number,) for number in range(1_000)]
    never = Constraint(Arithmetic("+", Variable("a"), Variable("b")), "<", 0)
    join = plan([call("p", "a"), call("q", "b")], [never], {"a": "a", "b": "b"})
    with pytest.raises(TooLargeError):
        join.substitutions([many] * 2, lambda _: ())


def test_shared_variables_are_looked_up_not_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_STEPS", 4_000)
    pairs = [(number, number + 1) for number in range(1_000)]
    join = plan([call("p", "a", "b"), call("q", "b", "c"), call("r", "c", "d")], [], dict.fromkeys("abcd", ""))
    assert join.substitutions([pairs] * 3, lambda _: ()) is not None


def test_constraints_on_one_call_are_known_to_be_its_own() -> None:
    calls = (call("p", "a"), call("q", "a", "b"))
    ours, theirs = Constraint(Variable("a"), ">", 1), Constraint(Variable("b"), "<", Variable("a"))
    shape = Shape(Case(((),), (*calls, ours, theirs)))
    assert shape.local == ((0, ("a",), (ours,)), (1, ("a", "b"), (ours, theirs)))


def test_variables_without_a_name_are_neither_shown_nor_counted() -> None:
    join = plan([call("p", "a", "b")], [], {"a": "people", "b": ""})
    found = join.substitutions([[(1, 1), (1, 2), (2, 1)]], lambda _: ())
    assert found == Substitutions({"people": 1}, 2)
