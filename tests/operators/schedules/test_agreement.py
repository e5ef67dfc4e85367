"""Every schedule finds what brute force finds, whatever it is asked and told, and evaluates no more than it should."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.arrays import Int8s
from tamis.errors import TamisError
from tamis.operators.schedules import SCHEDULES, Evidence, Live, Problem, Run, Schedule, schedule
from tamis.operators.schedules.problem import TRUE
from tests.operators.schedules.generated import by_number, chances, costs, matching, members, problems, truths

every = pytest.mark.parametrize("name", SCHEDULES)


def decide(run: Run, events: Int8s, data: Any) -> list[tuple[int, int]]:
    """Answers what is asked, sometimes only in part; returns what was asked, in order."""
    asked: list[tuple[int, int]] = []
    while len(wanted := run.ask()):
        pairs = list(zip(*(array.tolist() for array in wanted.pairs), strict=True))
        answered = data.draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True)) if data else pairs
        rows, predicates = (np.array(column, np.int32) for column in zip(*answered, strict=True))
        run.tell(rows, predicates, events[rows, predicates])
        asked += answered
    return asked


def answers(run: Run) -> list[list[int]]:
    offsets, subscriptions = run.matches()
    return [sorted(subscriptions[a:b].tolist()) for a, b in pairwise(offsets)]


def check_table(planned: Schedule, present: dict[int, list[int]], events: Int8s) -> None:
    record = planned.run(events)
    assert [record.matches_of(e) for e in range(len(events))] == [matching(present, truth) for truth in events]
    for e, truth in enumerate(events):
        part = slice(record.trail.offsets[e], record.trail.offsets[e + 1])
        told = record.trail.predicates[part].tolist()
        assert len(set(told)) == len(told)
        assert (record.trail.truths[part] == truth[told]).all()


@every
@given(data=st.data(), problem=problems())
def test_events_whose_truths_are_known_match_as_by_brute_force(name: str, data: Any, problem: Problem) -> None:
    check_table(schedule(name, problem), by_number(problem), data.draw(truths(problem.predicates)))


@every
@given(data=st.data(), problem=problems(), lanes=st.integers(1, 4))
def test_events_in_lanes_match_as_by_brute_force(name: str, data: Any, problem: Problem, lanes: int) -> None:
    events = data.draw(truths(problem.predicates))
    run = schedule(name, problem).begin(len(events), lanes=lanes)
    asked = decide(run, events, data)
    assert answers(run) == [matching(by_number(problem), truth) for truth in events]
    assert len(set(asked)) == len(asked)


@every
@given(data=st.data(), problem=problems(), lanes=st.integers(1, 3))
def test_only_what_is_in_question_is_decided(name: str, data: Any, problem: Problem, lanes: int) -> None:
    events = data.draw(truths(problem.predicates))
    numbers = st.integers(0, problem.subscriptions - 1) if problem.subscriptions else st.nothing()
    rows = [data.draw(st.lists(numbers, unique=True)) for _ in events]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    live = Live(offsets, np.array([n for row in rows for n in row], np.int32))
    run = schedule(name, problem).begin(len(events), live, lanes)
    asked = decide(run, events, data)
    everything = by_number(problem)
    questioned = [{n: everything[n] for n in row} for row in rows]
    assert answers(run) == [matching(some, truth) for some, truth in zip(questioned, events, strict=True)]
    for event, predicate in asked:
        assert any(predicate in wanted for wanted in questioned[event].values())


@every
@given(data=st.data(), problem=problems())
def test_subscriptions_come_and_go(name: str, data: Any, problem: Problem) -> None:
    planned, present, predicates = schedule(name, problem), by_number(problem), problem.predicates
    for _ in range(data.draw(st.integers(0, 8))):
        change = data.draw(st.sampled_from(["insert", "insert", "delete", "predicate", "learn", "run"]))
        if change == "insert":
            wanted = data.draw(members(predicates))
            number = planned.insert(wanted)
            assert number not in present
            present[number] = wanted
        elif change == "delete" and present:
            number = data.draw(st.sampled_from(sorted(present)))
            planned.delete(number)
            del present[number]
        elif change == "predicate":
            assert planned.add_predicate(data.draw(costs), data.draw(chances)) == predicates
            predicates += 1
        elif change == "learn":
            planned.learn(Evidence.of(planned.run(data.draw(truths(predicates))).trail))
        else:
            check_table(planned, present, data.draw(truths(predicates)))
    events = data.draw(truths(predicates))
    check_table(planned, present, events)
    run = planned.begin(len(events), lanes=2)
    decide(run, events, None)
    assert answers(run) == [matching(present, truth) for truth in events]


@every
@given(data=st.data(), problem=problems())
def test_what_is_told_unasked_counts_and_what_is_dismissed_does_not_match(
    name: str, data: Any, problem: Problem
) -> None:
    events = data.draw(truths(problem.predicates))
    run = schedule(name, problem).begin(len(events), lanes=len(events) or None)
    run.ask()
    dismissed = set()
    told: set[tuple[int, int]] = set()
    for event in range(len(events)):
        for predicate in data.draw(st.lists(st.integers(0, problem.predicates - 1), max_size=3)):
            row, column = np.array([event], np.int32), np.array([predicate], np.int32)
            run.tell(row, column, events[row, column])
            told.add((event, predicate))
        if problem.subscriptions:
            number = data.draw(st.integers(0, problem.subscriptions - 1))
            if any(events[event, t] != TRUE or (event, t) not in told for t in problem.subscription(number)):
                run.dismiss(np.array([event], np.int32), np.array([number], np.int32))
                dismissed.add((event, number))
    assert not told & set(decide(run, events, None))
    found = [matching(by_number(problem), truth) for truth in events]
    assert answers(run) == [[n for n in row if (e, n) not in dismissed] for e, row in enumerate(found)]


@every
@given(data=st.data(), problem=problems())
def test_both_ways_to_run_ask_for_the_same_in_the_same_order(name: str, data: Any, problem: Problem) -> None:
    events = data.draw(truths(problem.predicates))
    planned = schedule(name, problem)
    record = planned.run(events)
    run = planned.begin(len(events), sample=len(events))
    asked = decide(run, events, data)
    for event in range(len(events)):
        part = slice(record.trail.offsets[event], record.trail.offsets[event + 1])
        assert [predicate for row, predicate in asked if row == event] == record.trail.predicates[part].tolist()
    evidence, expected = run.evidence(), Evidence.of(record.trail)
    for field in ("predicates", "evaluated", "held", "unknown"):
        assert (getattr(evidence, field) == getattr(expected, field)).all()
    assert evidence.sample.lengths.sum() == len(asked)


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name != "naive"])
@given(data=st.data(), problem=problems())
def test_nothing_is_evaluated_that_nobody_undecided_wants(name: str, data: Any, problem: Problem) -> None:
    events = data.draw(truths(problem.predicates))
    trail = schedule(name, problem).run(events).trail
    for e in range(len(events)):
        undecided = by_number(problem)
        for i in range(trail.offsets[e], trail.offsets[e + 1]):
            predicate, value = trail.predicates[i], trail.truths[i]
            assert any(predicate in wanted for wanted in undecided.values())
            if value != TRUE:
                undecided = {n: wanted for n, wanted in undecided.items() if predicate not in wanted}
            known = set(trail.predicates[trail.offsets[e] : i + 1].tolist())
            undecided = {n: wanted for n, wanted in undecided.items() if not known >= set(wanted)}


@every
def test_asked_for_are_events_grouped_by_predicate(name: str) -> None:
    run = schedule(name, Problem.of([[0, 1], [1, 2]], [0.5, 0.1, 0.5])).begin(5)
    asked = run.ask()
    assert len(asked.predicates) == 1
    assert sorted(asked.events.tolist()) == [0, 1, 2, 3, 4]
    again = run.ask()
    assert (again.events == asked.events).all()
    run.tell(np.array([3], np.int32), asked.predicates, np.array([1], np.int8))
    asked = run.ask()
    assert len(asked.predicates) == 2
    assert sorted(np.diff(asked.offsets).tolist()) == [1, 4]


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(TamisError, match="sub-order"):
        schedule("greedy", Problem.of([], []))


@pytest.mark.parametrize(("name", "asked"), [("naive", [0, 1, 2]), ("sequential", [0, 1])])
def test_the_baseline_remembers_what_it_evaluated_and_does_not_pass_eliminations_on(
    name: str, asked: list[int]
) -> None:
    """0 holds and 1 does not: then nothing is left that 2 could decide, but only who passes eliminations on sees it."""
    problem = Problem.of([[0, 1], [2, 1], [0]], [0.9, 0.5, 0.1])
    trail = schedule(name, problem).run(np.array([[1, 0, 1]], np.int8)).trail
    assert sorted(trail.predicates.tolist()) == asked
