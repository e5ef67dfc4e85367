"""The table of standing filters: its roots match what all its filters match, and none of them covers another."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tamis.lab.diagrams import DiagramRows
from tamis.language import Filter
from tamis.routing.covering import covers
from tamis.routing.standing import CoveringTable, Inserted
from tamis.routing.standing.predicate_index import PredicateIndex
from tamis.routing.standing.rows import Rows
from tamis.routing.standing.table import RootRows
from tests.generated import cases
from tests.routing.covering.small_worlds import (
    SCHEMA,
    comparisons_of_two,
    conditions,
    conjunctions,
    normal,
    really_covers,
)

_NAMES = ["i", "f", "s", "e", "h"]
_PLAIN = conjunctions(conditions(_NAMES), 3).map(normal).filter(lambda filter: len(filter.conjuncts) <= 1)
_ANY_CONDITION = st.one_of(
    conditions(["i", "s", "h"], patterns=True), conditions(["k", "u"]), comparisons_of_two([("i", "j")])
)
_ANY = st.lists(conjunctions(_ANY_CONDITION, 2), min_size=1, max_size=3).map(
    lambda parts: normal(" OR ".join(f"({part})" for part in parts))
)


_Rows = Callable[[PredicateIndex], RootRows]
ROWS: dict[str, _Rows] = {
    "buckets": Rows,
    "diagrams": partial(DiagramRows, order=["f", "i"]),
    "diagrams, no cache": partial(DiagramRows, cache=False),
    "diagrams, two passes": partial(DiagramRows, one_pass=False),
}
every_kind_of_rows = pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)


class Standing:
    """A table beside what it should know."""

    def __init__(self, rows: _Rows = Rows) -> None:
        self.table = CoveringTable(SCHEMA, rows)
        self.filters: dict[str, Filter] = {}
        self.forwarded: set[str] = set()
        self.count = 0

    def insert(self, filter: Filter) -> Inserted:
        id = f"s{self.count}"
        self.count += 1
        self.filters[id] = filter
        told = self.table.insert(id, filter)
        assert told.root or not told.covers
        if told.root:
            assert told.covered_by is None
            self.forwarded -= set(told.covers)
            self.forwarded.add(id)
        elif told.covered_by is not None:
            assert told.covered_by in self.forwarded
            assert really_covers(self.filters[told.covered_by], filter)
        return told

    def remove(self, id: str) -> None:
        told = self.table.remove(id)
        del self.filters[id]
        assert told.root == (id in self.forwarded)
        self.forwarded.discard(id)
        assert not set(told.uncovered) & self.forwarded
        self.forwarded |= set(told.uncovered)

    def check(self) -> None:
        """What was told agrees with what is in the table, and no filter is without a root that covers it."""
        assert {id for id, _ in self.table.roots()} == self.forwarded
        assert self.table.root_count == len(self.forwarded)
        assert len(self.table) == len(self.filters)
        assert set(self.table) == set(self.filters)
        for id, filter in self.filters.items():
            root = id if self.table.is_root(id) else self.table.covered_by(id)
            if root is None:
                assert really_covers(normal("i = 1 AND i = 3"), filter), "no event matches it"
            else:
                assert self.table.is_root(root)
                assert really_covers(self.filters[root], filter)

    def check_minimal(self) -> None:
        roots = [self.filters[id] for id in self.forwarded]
        for k, one in enumerate(roots):
            assert not any(really_covers(other, one) for j, other in enumerate(roots) if j != k)


class _Coming(RuleBasedStateMachine):
    """Filters come and go."""

    filters: ClassVar[st.SearchStrategy[Filter]]

    @initialize(rows=st.sampled_from(list(ROWS.values())))
    def begin(self, rows: _Rows) -> None:
        self.standing = Standing(rows)

    @rule(data=st.data())
    def insert(self, data: Any) -> None:
        self.standing.insert(data.draw(self.filters))

    @precondition(lambda self: self.standing.filters)
    @rule(data=st.data())
    def remove(self, data: Any) -> None:
        self.standing.remove(data.draw(st.sampled_from(sorted(self.standing.filters))))

    @invariant()
    def roots_cover_all(self) -> None:
        self.standing.check()


class PlainStanding(_Coming):
    """Conjunctions of comparisons: the roots are minimal at all times."""

    filters = _PLAIN

    @invariant()
    def roots_do_not_cover_each_other(self) -> None:
        self.standing.check_minimal()


class AnyStanding(_Coming):
    """Disjunctions, patterns, comparisons of attributes, several values: never a cover that is none."""

    filters = _ANY


TestPlainStanding = PlainStanding.TestCase
TestPlainStanding.settings = settings(max_examples=cases(40), stateful_step_count=20, deadline=None)
TestAnyStanding = AnyStanding.TestCase
TestAnyStanding.settings = settings(max_examples=cases(50), stateful_step_count=15, deadline=None)


@given(_PLAIN, _PLAIN)
@settings(max_examples=cases(200))
def test_two_conjunctions_stand_to_each_other_as_the_relation_says(a: Filter, b: Filter) -> None:
    table = CoveringTable(SCHEMA)
    if not table.insert("a", a).root:
        return
    told = table.insert("b", b)
    if not told.root and told.covered_by is None:
        assert really_covers(normal("i = 1 AND i = 3"), b), "no event matches it"
        return
    assert (told.covered_by == "a") == covers(a, b, SCHEMA)
    assert (told.covers == ("a",)) == (covers(b, a, SCHEMA) and not covers(a, b, SCHEMA))


_PATTERNS = st.builds(
    "{} {}{}".format,
    st.just("s"),
    st.sampled_from(["", "NOT "]),
    st.sampled_from(
        ["LIKE '%b'", "LIKE '%a%'", "LIKE 'a_'", "LIKE '_%b'", "LIKE 'ab%'", "ILIKE '%B'", "RLIKE '^a'", "RLIKE 'b$'"]
    ),
)
_BESIDE_PATTERNS = st.sampled_from(["s != 'a'", "s != ''", "s NOT IN ('a', 'abb')", "s > ''", "s <= 'b'", "s != 'b'"])
_OTHERS = conditions(["b", "t", "u"])
PROMISED = {
    "patterns": conjunctions(st.one_of(conditions(["s", "w"], patterns=True), _OTHERS), 3),
    "values beside patterns": conjunctions(_PATTERNS | _BESIDE_PATTERNS, 2),
    "several values": conjunctions(conditions(["n", "w", "k"]), 3),
    # A transitive cover (`i < j AND j < n`) is none of two predicates on one column, so there is one pair a filter.
    "comparisons": st.sampled_from([("i", "j"), ("i", "n"), ("n", "f"), ("f", "i"), ("e", "d"), ("h", "k")]).flatmap(
        lambda pair: conjunctions(st.one_of(comparisons_of_two([pair]), _OTHERS), 3)
    ),
    "comparisons of several pairs": conjunctions(
        st.one_of(comparisons_of_two([("i", "f")]), comparisons_of_two([("e", "d")]), conditions(["s"], patterns=True)),
        4,
    ),
}


@pytest.mark.parametrize("kind", PROMISED)
@given(st.data())
@settings(max_examples=cases(150), deadline=None)
def test_the_table_sees_every_cover_that_the_relation_sees(kind: str, data: Any) -> None:
    one, other = (
        data.draw(PROMISED[kind].map(normal).filter(lambda filter: len(filter.conjuncts) == 1)) for _ in range(2)
    )
    table = CoveringTable(SCHEMA, ROWS[data.draw(st.sampled_from(list(ROWS)))])
    if not table.insert("one", one).root:
        return
    told = table.insert("other", other)
    if not told.root and told.covered_by is None:
        return
    assert (told.covered_by == "one") == covers(one, other, SCHEMA)
    assert (told.covers == ("one",)) == (covers(other, one, SCHEMA) and not covers(one, other, SCHEMA))


@every_kind_of_rows
@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("i > 1", "i = 3"),
        ("i IN (1, 3, 5)", "i IN (3, 5)"),
        ("s LIKE 'ab%'", "s LIKE 'abc%'"),
        ("s LIKE 'ab%'", "s = 'abd'"),
        ("s IN ('a', 'b', 'c')", "s IN ('a', 'c')"),
        ("h <= 'table'", "h = 'bureau'"),
        ("e >= 'carved'", "e IN ('gilded', 'inlaid')"),
        ("f BETWEEN 1 AND 3", "f > 1.5 AND f < 2.5 AND i = 1"),
        ("s IS NOT NULL", "s LIKE '%x%'"),
        ("w = 'a'", "w = 'a' AND w = 'b'"),
        ("i = 1 OR i = 3", "i = 3"),
        ("i < 3 OR s = 'a'", "i < 1 OR (s = 'a' AND f > 1)"),
        ("s LIKE '%a%'", "s LIKE '%ab%'"),
        ("i = 1 OR NOT i = 1 OR i IS NULL", "s = 'a'"),
        ("i < j", "i < j AND s = 'a'"),
        ("i >= j", "i > j"),
        ("NOT i = j", "j < i AND f > 1"),
        ("d <= e", "d = e"),
        ("i >= n", "i > n"),
        ("NOT i = n", "NOT i <= n"),
        ("s != 'no'", "s LIKE '%yes'"),
        ("s > ''", "s RLIKE '^a'"),
        ("w != 'no'", "w LIKE 'a%' AND NOT w LIKE '%o'"),
    ],
)
def test_covers_of_every_kind_are_seen_in_both_directions(wide: str, narrow: str, rows: _Rows) -> None:
    table = CoveringTable(SCHEMA, rows)
    assert table.insert("narrow", normal(narrow)) == Inserted(root=True)
    assert table.insert("wide", normal(wide)) == Inserted(root=True, covers=("narrow",))
    assert table.insert("again", normal(narrow)) == Inserted(root=False, covered_by="wide")
    removed = table.remove("wide")
    assert removed.root
    assert removed.uncovered == ("narrow",)
    assert table.covered_by("again") == "narrow"


@every_kind_of_rows
def test_predicates_that_no_filter_has_any_more_are_forgotten(rows: _Rows) -> None:
    table = CoveringTable(SCHEMA, rows)
    for round_ in range(3):
        for k in range(400):
            table.insert(f"s{k}", normal(f"i = {1000 * round_ + k} AND j IN (-5, {k + 1})"))
        assert len(table.index) == 800
        for k in range(400):
            table.remove(f"s{k}")
        assert len(table.index) == 0
    assert len(table.index.lows) <= 1024
    assert len(table.index.range_lows) <= 4096


def test_what_stood_behind_a_removed_filter_stands_behind_another_one() -> None:
    table = CoveringTable(SCHEMA)
    for id, text in {"a": "i > 1", "b": "i > 0", "c": "i > 3", "d": "i > 3 AND f > 1"}.items():
        table.insert(id, normal(text))
    assert [id for id, _ in table.roots()] == ["b"]
    assert table.remove("a").uncovered == ()
    assert table.remove("b").uncovered == ("c",)
    assert table.covered_by("d") == "c"


def test_an_id_can_stand_once() -> None:
    table = CoveringTable(SCHEMA)
    table.insert("a", normal("i > 1"))
    with pytest.raises(ValueError, match="remove it first"):
        table.insert("a", normal("i > 2"))
