"""What processes teach each other adds up, in any order, and is found again by whoever has the same predicates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.operators.health import Tally
from tamis.operators.learning import COUNTS, Lessons, Seen
from tamis.pipeline.table.calling import read_learned, write_learned
from tests.operators.places import SCHEMA, loc_in, seen, shot

FILTERS = {"a": "loc_in('Bronx')", "b": "loc_in('Queens') AND seen('p', ?n) AND ?n > 1", "c": "seen('c', 2)"}
SHOTS = [shot(40.6 + number % 30 / 100, "pc" * (number % 5) + "x") for number in range(300)]


def some_seen() -> st.SearchStrategy[Seen]:
    rows = st.dictionaries(
        st.integers(0, 2**64 - 1) | st.integers(0, 5), st.tuples(*[st.integers(0, 1000)] * COUNTS), max_size=8
    )
    return rows.map(lambda by_key: Seen.of(list(by_key), np.array([*by_key.values()], float).reshape(-1, COUNTS).T))


def some_lessons() -> st.SearchStrategy[Lessons]:
    tallies = st.builds(Tally, calls=st.integers(0, 9), failures=st.integers(0, 9))
    names = st.sampled_from("abc")
    return st.builds(Lessons, st.integers(0, 99), st.dictionaries(names, some_seen()), st.dictionaries(names, tallies))


def plain(seen: Seen) -> dict[int, list[float]]:
    return {int(key): seen.counts[:, place].tolist() for place, key in enumerate(seen.keys)}


def comparable(lessons: Lessons) -> object:
    tallies = {name: tally.to_dict() for name, tally in lessons.tallies.items()}
    return lessons.events, {name: plain(seen) for name, seen in lessons.seen.items()}, tallies


@given(some_seen(), some_seen())
def test_counts_of_one_predicate_add_up(one: Seen, other: Seen) -> None:
    both, left, right = plain(one + other), plain(one), plain(other)
    assert both.keys() == left.keys() | right.keys()
    for key, counts in both.items():
        zeros = [0.0] * COUNTS
        assert counts == [a + b for a, b in zip(left.get(key, zeros), right.get(key, zeros), strict=True)]
    asked = np.array([*both, 7], np.uint64)
    assert one.counts_of(asked).T.tolist() == [left.get(int(key), [0.0] * COUNTS) for key in asked]


@given(some_lessons(), some_lessons(), some_lessons())
def test_it_does_not_matter_in_which_order_lessons_come(a: Lessons, b: Lessons, c: Lessons) -> None:
    assert comparable((a + b) + c) == comparable(a + (b + c))
    assert comparable(a + b) == comparable(b + a)
    assert comparable(a + Lessons()) == comparable(a)


def compiled() -> tamis.Index:
    return tamis.compile(FILTERS, SCHEMA, operators=[loc_in, seen])


def test_an_index_that_is_told_all_lessons_knows_what_their_teacher_knows(tmp_path: Path) -> None:
    teacher, pupil = compiled(), compiled()
    assert teacher.calling is not None
    assert pupil.calling is not None
    for first in range(0, 256, 64):  # after so many events what they taught is taken over, and fades from then on
        teacher.match(SHOTS[first : first + 64])
        pupil.calling.take(teacher.calling.lessons())
    assert not teacher.calling.lessons()
    assert [one.tally for one in pupil.operators] == [one.tally for one in teacher.operators]
    for here, there in zip(pupil.operators, teacher.operators, strict=True):
        assert here.selectivity is not None
        assert there.selectivity is not None
        assert abs(here.selectivity - there.selectivity) < 1e-9
    write_learned(tmp_path / "learned", teacher.calling.known())
    third = compiled()
    assert third.calling is not None
    third.calling.start_from(read_learned(tmp_path / "learned"))
    assert [one.selectivity for one in third.operators] == [one.selectivity for one in teacher.operators]


def test_what_was_learned_of_another_version_of_an_operator_is_not_believed() -> None:
    teacher = compiled()
    assert teacher.calling is not None
    teacher.match(SHOTS)
    newer = tamis.operator(cost=1.0, version="2")(loc_in.function)
    pupil = tamis.compile(FILTERS, SCHEMA, operators=[newer, seen])
    assert pupil.calling is not None
    pupil.calling.start_from(teacher.calling.known())
    assert pupil.operators["loc_in"].selectivity is None
    assert pupil.operators["seen"].selectivity == teacher.operators["seen"].selectivity


def test_a_schedule_is_planned_anew_while_lessons_of_the_old_one_are_open() -> None:
    """Those are numbered as the old schedule numbers predicates, and must not reach the new one."""
    index = compiled()
    index.match(SHOTS[:10])
    index.remove(["a"])
    index.add({f"n{k}": f"seen('x', {k}) AND NOT loc_in('Bronx')" for k in range(20)})
    index.match(SHOTS)
    again = tamis.compile({id: index.text(id) for id in index.ids().to_pylist()}, SCHEMA, operators=[loc_in, seen])
    assert [sorted(ids) for ids in index.match(SHOTS).to_lists()] == [
        sorted(ids) for ids in again.match(SHOTS).to_lists()
    ]
