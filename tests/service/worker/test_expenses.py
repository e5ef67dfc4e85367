"""Who of an owner is too much: the fewest and most expensive that leave what is within the budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.service.worker.suspending import Expenses, Overspent

BUDGET, WINDOW = 5.0, 60.0
CHARGES = st.lists(
    st.tuples(st.integers(0, 90), st.dictionaries(st.integers(0, 9), st.integers(1, 40).map(lambda n: n / 4))),
    max_size=12,
)


def owner(number: int) -> str:
    return "abc"[number % 3]


def expenses(*charges: tuple[float, dict[int, float]]) -> Expenses:
    made = Expenses(BUDGET, WINDOW)
    for now, seconds in charges:
        made.charge(now, seconds, {number: owner(number) for number in seconds})
    return made


def test_the_most_expensive_of_an_owner_over_the_budget_is_too_much() -> None:
    assert expenses((0, {0: 3.0, 3: 4.0, 6: 0.5, 1: 4.9})).overspent(1) == [Overspent(3, 4.0, 7.5)]


def test_charges_add_up_and_pass_with_the_window() -> None:
    made = expenses((0, {0: 3.0}), (50, {0: 3.0}))
    assert expenses((0, {0: 3.0}), (50, {0: 3.0})).overspent(59) == [Overspent(0, 6.0, 6.0)]
    assert made.overspent(60) == []


def test_once_too_much_a_subscription_begins_anew() -> None:
    made = expenses((0, {0: 6.0}))
    assert [one.number for one in made.overspent(0)] == [0]
    assert made.overspent(0) == []
    made.charge(1, {0: 4.0}, {0: "a"})
    assert made.overspent(1) == []


def test_what_nobody_owns_any_more_is_nobodys_charge() -> None:
    made = Expenses(BUDGET, WINDOW)
    made.charge(0, {0: 9.0, 3: 1.0}, {3: "a"})
    assert made.overspent(0) == []


@given(sorted_charges=CHARGES.map(lambda charges: sorted(charges, key=lambda charge: charge[0])))
def test_what_is_left_is_within_everybodys_budget_and_nobody_is_suspended_for_another(
    sorted_charges: list[tuple[float, dict[int, float]]],
) -> None:
    now = max((at for at, _ in sorted_charges), default=0)
    totals: dict[int, float] = {}
    for at, seconds in sorted_charges:
        for number, took in seconds.items() if at > now - WINDOW else ():
            totals[number] = totals.get(number, 0.0) + took
    made = expenses(*sorted_charges)
    found = made.overspent(now)
    gone = {one.number for one in found}
    for name in "abc":
        own = {number: took for number, took in totals.items() if owner(number) == name}
        left = sum(took for number, took in own.items() if number not in gone)
        dropped = [took for number, took in own.items() if number in gone]
        assert left <= BUDGET
        # Not one less would have done, and none that stays is more expensive.
        assert not dropped or left + min(dropped) > BUDGET
        assert max((took for n, took in own.items() if n not in gone), default=0) <= min(dropped, default=float("inf"))
    assert all(one.seconds == pytest.approx(totals[one.number]) for one in found)
    assert made.overspent(now) == []
