"""Covering is what looking at every event says: exactly for conjunctions of comparisons, never too much for others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tamis.language import Filter
from tamis.language.predicates import attributes_of
from tamis.routing.covering import Relation, UndecidedError, counter_example, covers, relate, witness
from tamis.routing.covering.relation import satisfies
from tests.generated import cases
from tests.routing.covering.small_worlds import (
    SCHEMA,
    comparisons_of_two,
    conditions,
    conjunctions,
    normal,
    really_covers,
)

_NARROW = st.sampled_from(["i", "n", "f", "s", "w", "e", "h", "k", "u", "b", "t"])


@st.composite
def narrow(draw: st.DrawFn) -> tuple[str, str]:
    """Two conjunctions on one attribute or two, where most is decided by what exactly the values are."""
    names = draw(st.lists(_NARROW, min_size=1, max_size=2, unique=True))
    # A filter of the small world asks for at most three values of an attribute that may have several.
    most = 2 if set(names) & set("nwku") else 3
    one = conjunctions(conditions(names), most)
    return draw(one), draw(one)


@st.composite
def with_two_attributes(draw: st.DrawFn) -> tuple[str, str]:
    """Two conjunctions in which attributes are compared with each other, and with constants."""
    pairs = draw(
        st.sampled_from(
            [
                [("i", "j")],
                [("i", "f")],
                [("i", "j"), ("i", "f")],
                [("s", "r")],
                [("e", "d")],
                [("i", "n")],
                [("h", "k")],
            ]
        )
    )
    names = sorted({name for pair in pairs for name in pair})
    versus, plain = comparisons_of_two(pairs), conditions(names)
    if set("nk") & set(names):
        return f"{draw(versus)} AND {draw(plain)}", draw(st.one_of(versus, plain))
    return draw(conjunctions(st.one_of(versus, plain), 3)), draw(conjunctions(st.one_of(versus, plain), 2))


def one_conjunct(*filters: Filter) -> bool:
    return all(len(filter.conjuncts) <= 1 for filter in filters)


@given(narrow())
@settings(max_examples=cases(150))
def test_on_conjunctions_of_comparisons_covering_is_exact(texts: tuple[str, str]) -> None:
    a, b = map(normal, texts)
    assume(one_conjunct(a, b))
    assert covers(a, b, SCHEMA) == really_covers(a, b)
    assert covers(b, a, SCHEMA) == really_covers(b, a)


@given(with_two_attributes())
@settings(max_examples=cases(120))
def test_attributes_compared_with_each_other_are_exact_too(texts: tuple[str, str]) -> None:
    a, b = map(normal, texts)
    assume(one_conjunct(a, b))
    assert covers(a, b, SCHEMA) == really_covers(a, b)
    assert covers(b, a, SCHEMA) == really_covers(b, a)


@st.composite
def disjunctions(draw: st.DrawFn, patterns: bool) -> tuple[str, str]:
    names = draw(st.lists(_NARROW, min_size=1, max_size=2, unique=True))
    one = conjunctions(conditions(names, patterns), 2)
    several = st.lists(one, min_size=1, max_size=3).map(lambda parts: " OR ".join(f"({part})" for part in parts))
    return draw(several), draw(several)


def _positives(filter: Filter) -> int:
    """How many values of one attribute an event may need to tell the filter from others."""
    counts: dict[str, int] = {}
    for conjunct in filter.conjuncts:
        for literal in conjunct:
            for name in attributes_of(literal):
                counts[name] = counts.get(name, 0) + 1
    return max((count for name, count in counts.items() if SCHEMA.attributes[name].multiple), default=0)


@given(disjunctions(patterns=False))
@settings(max_examples=cases(120))
def test_disjunctions_are_exact_unless_undecided(texts: tuple[str, str]) -> None:
    a, b = map(normal, texts)
    claimed = covers(a, b, SCHEMA)
    if claimed:
        assert really_covers(a, b, most=3)
    try:
        event = counter_example(a, b, SCHEMA)
    except UndecidedError:
        return
    assert (event is None) == claimed
    if _positives(a) + _positives(b) <= 3:
        assert claimed == really_covers(a, b)


@given(disjunctions(patterns=True))
@settings(max_examples=cases(120))
def test_no_cover_is_claimed_that_is_none(texts: tuple[str, str]) -> None:
    a, b = map(normal, texts)
    relation = relate(a, b, SCHEMA)
    if relation & Relation.COVERS:
        assert really_covers(a, b)
    if relation & Relation.COVERED:
        assert really_covers(b, a)
    assert bool(relation & Relation.COVERS) == covers(a, b, SCHEMA)
    assert bool(relation & Relation.COVERED) == covers(b, a, SCHEMA)


def _matches(event: Any, filter: Filter) -> bool:
    return any(satisfies(event, conjunct, SCHEMA) for conjunct in filter.conjuncts)


@given(st.one_of(disjunctions(patterns=True), with_two_attributes(), narrow()))
@settings(max_examples=cases(120))
def test_a_counter_example_matches_the_one_and_not_the_other(texts: tuple[str, str]) -> None:
    a, b = map(normal, texts)
    try:
        event = counter_example(a, b, SCHEMA)
    except UndecidedError:
        return
    if event is None:
        assert covers(a, b, SCHEMA)
    else:
        assert _matches(event, b)
        assert not _matches(event, a)
        SCHEMA.to_arrow(
            [{name: values if SCHEMA.attributes[name].multiple else values[0] for name, values in event.items()}]
        )


@given(st.one_of(narrow(), with_two_attributes()))
@settings(max_examples=cases(120))
def test_a_conjunct_has_a_witness_unless_nothing_satisfies_it(texts: tuple[str, str]) -> None:
    for text in texts:
        filter = normal(text)
        if not one_conjunct(filter):
            continue
        for conjunct in filter.conjuncts:
            event = witness(conjunct, SCHEMA)
            if event is None:
                assert really_covers(Filter(()), filter)
            else:
                assert satisfies(event, conjunct, SCHEMA)


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [
        ("i < 5", "i < 3", Relation.COVERS),
        ("i < 3", "i < 5", Relation.COVERED),
        ("i > 2", "i >= 3", Relation.EQUAL),
        ("i < 3", "j < 3", Relation.NEITHER),
        ("TRUE", "i = 1 OR s = 'a'", Relation.COVERS),
        ("FALSE", "i = 1", Relation.COVERED),
        ("FALSE", "i = 1 AND i = 2", Relation.EQUAL),
        ("i IS NOT NULL", "i != 3", Relation.COVERS),
        ("i IS NULL", "i != 3", Relation.NEITHER),
        ("h <= 'table'", "h IN ('desk', 'bureau')", Relation.COVERS),
        ("e >= 'carved'", "e = 'gilded' OR e = 'inlaid'", Relation.COVERS),
        ("s LIKE 'a%'", "s LIKE 'ab%'", Relation.COVERS),
        ("s LIKE 'a%'", "s >= 'a' AND s < 'b'", Relation.EQUAL),
        ("s LIKE '%a%'", "s = 'banana'", Relation.COVERS),
        ("s LIKE '%oak%'", "s LIKE '%oak desk'", Relation.COVERS),
        ("s ILIKE '%oak%'", "s LIKE '%OAK desk'", Relation.COVERS),
        ("s > 'a'", "s >= 'a\0'", Relation.EQUAL),
        ("f > 1", "f >= 1.0000000000000002", Relation.EQUAL),
        ("n > 1 AND n < 5", "n = 3", Relation.COVERS),
        ("n BETWEEN 2 AND 4", "n > 1 AND n < 5", Relation.COVERED),
        ("n > 3 AND n > 1", "n > 3", Relation.EQUAL),
        ("NOT n > 3", "n <= 3", Relation.COVERED),
        ("w != 'a'", "w NOT IN ('a', 'b')", Relation.COVERS),
        ("i < j", "i = 1 AND j = 2", Relation.COVERS),
        ("i < 5", "i < j AND j < 5", Relation.COVERS),
        ("i < 5", "i <= j AND j < 5", Relation.COVERS),
        ("i < f", "i < j AND j < f", Relation.COVERS),
        ("i <= j", "i = j", Relation.COVERS),
        ("i < j", "NOT j <= i", Relation.EQUAL),
        ("(i < 3 AND j = 1) OR (i >= 3 AND j < 3)", "j = 1 AND i IS NOT NULL", Relation.COVERS),
        ("i = 1 OR s = 'a'", "(i = 1 AND s = 'a') OR (i = 1 AND s = 'b')", Relation.COVERS),
    ],
)
def test_known_pairs(a: str, b: str, relation: Relation) -> None:
    assert relate(normal(a), normal(b), SCHEMA) == relation
    mirrored = {Relation.COVERS: Relation.COVERED, Relation.COVERED: Relation.COVERS}.get(relation, relation)
    assert relate(normal(b), normal(a), SCHEMA) == mirrored


def test_more_unknowns_than_can_be_tried_are_undecided_and_not_covered() -> None:
    a = normal("i < j")
    b = normal(" AND ".join(f"n != {k}" for k in range(60)) + " AND NOT n = i AND NOT n = j AND i != j AND f > n")
    assert not covers(a, b, SCHEMA)


def test_filters_of_very_many_alternatives_are_compared_within_bounds() -> None:
    one, other = (
        normal(" OR ".join(f"(s LIKE '%a{k}z%' AND f > {k})" for k in range(first, first + 500))) for first in (0, 100)
    )
    assert not covers(one, other, SCHEMA)
    assert covers(one, one, SCHEMA)
    assert relate(one, one, SCHEMA) == Relation.EQUAL
