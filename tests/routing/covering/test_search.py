"""Covers among many filters are those between two: none is claimed that is none, and of plain ones none is missed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.language import Filter, normalise, parse
from tamis.language.predicates import Like, Literal, Not, RLike, Versus
from tamis.matching.codes.level import Level
from tamis.matching.columnar.level import ColumnarMatcher
from tamis.matching.patterns import prefix_of
from tamis.routing.covering import Relation, covers, relate
from tamis.routing.covering.facts.facts import Facts, facts_of
from tamis.routing.covering.search.covers import Covers, find_covers
from tamis.routing.covering.search.ground import Classes, classes_of
from tamis.routing.covering.search.kernels import covered_by_any
from tamis.schema import Schema
from tamis.testing import Generated, crowds
from tamis.workloads import named
from tests.generated import cases
from tests.routing.covering.small_worlds import SCHEMA, comparisons_of_two, conditions, conjunctions


@dataclass
class Found:
    """What the search says of filters, by id."""

    schema: Schema
    texts: dict[str, str]
    ids: list[str]
    facts: Facts
    classes: Classes
    covers: Covers

    @classmethod
    def among(cls, texts: dict[str, str], schema: Schema, ask: bool = True, most: int = 10**9) -> Found:
        level = _level(texts, schema)
        facts, distinct = facts_of(level.conjuncts, level.encoder, schema)
        classes = classes_of(level.conjuncts, distinct, facts, len(level.names))
        ids = level.names.ids.to_pylist()

        def asked(owner: int, other: int) -> Relation:
            a, b = (texts[ids[classes.first[k]]] for k in (owner, other))
            return relate(_normal(a, schema), _normal(b, schema), schema)

        found = find_covers(facts, classes, schema, asked if ask else None, most)
        return cls(schema, texts, ids, facts, classes, found)

    def of_class(self, k: int) -> str:
        return self.ids[self.classes.first[k]]

    def filter(self, id: str) -> Filter:
        return _normal(self.texts[id], self.schema)

    @property
    def equal(self) -> list[set[str]]:
        groups: dict[int, set[str]] = {}
        for id, k in zip(self.ids, self.classes.of.tolist(), strict=True):
            groups.setdefault(k, set()).add(id)
        return list(groups.values())

    @property
    def cover(self) -> dict[str, str]:
        return {self.of_class(k): self.of_class(c) for k, c in enumerate(self.covers.cover.tolist()) if c >= 0}


def _level(texts: dict[str, str], schema: Schema) -> Level:
    matcher = tamis.compile(texts, schema).matcher
    assert isinstance(matcher, ColumnarMatcher)
    (level,) = matcher._levels
    return level


def _normal(text: str, schema: Schema) -> Filter:
    return normalise(parse(text, schema), schema)


def _is_plain(filter: Filter) -> bool:
    """One conjunction or none, without comparisons of attributes, and of patterns only prefixes of single values."""
    return len(filter.conjuncts) <= 1 and all(_is_plain_literal(x) for conjunct in filter.conjuncts for x in conjunct)


def _is_plain_literal(literal: Literal) -> bool:
    match literal.leaf if isinstance(literal, Not) else literal:
        case Like(attribute, str() as pattern, False):
            return prefix_of(pattern) is not None and not SCHEMA.attributes[attribute].multiple
        case Like() | RLike() | Versus():
            return False
    return True


@given(crowds(max_subscriptions=60, max_events=0))
@settings(max_examples=cases(60))
def test_what_is_found_is_true(generated: Generated) -> None:
    found = Found.among(generated.subscriptions, generated.schema)
    for group in found.equal:
        first = found.filter(min(group))
        for id in group:
            assert covers(first, found.filter(id), found.schema)
            assert covers(found.filter(id), first, found.schema)
    for covered, covering in found.cover.items():
        assert covers(found.filter(covering), found.filter(covered), found.schema)
        assert covering not in found.cover


@st.composite
def sets_of_plain_filters(draw: st.DrawFn) -> dict[str, str]:
    """Conjunctions on few attributes, so that many cover each other; enough of them for the index to have a plan."""
    names = draw(
        st.lists(st.sampled_from(["i", "n", "f", "s", "w", "e", "h", "k", "u", "b", "t"]), min_size=1, max_size=3)
    )
    texts = draw(st.lists(conjunctions(conditions(names), 3), min_size=2, max_size=30))
    return {f"s{k}": text for k, text in enumerate(texts)}


@given(sets_of_plain_filters())
@settings(max_examples=cases(100))
def test_of_plain_filters_no_cover_is_missed(texts: dict[str, str]) -> None:
    found = Found.among(texts, SCHEMA, ask=False)
    filters = {id: _normal(text, SCHEMA) for id, text in texts.items()}
    never = {id for id, k in zip(found.ids, found.classes.of.tolist(), strict=True) if k < 0}
    plain = {id for id, filter in filters.items() if _is_plain(filter)}
    impossible = {id for id, filter in filters.items() if covers(Filter(()), filter, SCHEMA)}
    assert never <= impossible
    assert plain & impossible <= never
    leaders = [found.of_class(k) for k in range(len(found.classes))]
    left = [id for id in leaders if id not in found.cover and id in plain]
    for one in left:
        for other in left:
            if one != other:
                assert not covers(filters[one], filters[other], SCHEMA), (texts[one], texts[other])
    assert not found.covers.undecided.any()


@given(
    st.lists(
        st.one_of(comparisons_of_two([("i", "j"), ("i", "f")]), conditions(["i", "j", "f"])), min_size=2, max_size=20
    )
)
@settings(max_examples=cases(100))
def test_a_comparison_of_attributes_is_looked_at_more_closely(texts: list[str]) -> None:
    found = Found.among({f"s{k}": text for k, text in enumerate(texts)}, SCHEMA)
    for covered, covering in found.cover.items():
        assert covers(found.filter(covering), found.filter(covered), SCHEMA)


@pytest.mark.parametrize("name", ["padres_sets", "le_subscribe", "w2", "w5", "auctions"])
def test_of_a_workload_no_cover_is_missed(name: str) -> None:
    """Held to a scan of all pairs, on sets that are large enough for a real plan."""
    workload = named(name)(1_500, 1)
    texts = dict(zip(*(workload.subscriptions[c].to_pylist() for c in ("id", "filter")), strict=True))
    found = Found.among(texts, workload.schema)
    expected = _covered_by_scan(found)
    assert {found.of_class(k) for k in range(len(found.classes)) if found.covers.cover[k] >= 0} == expected


def _covered_by_scan(found: Found) -> set[str]:
    """The classes that another one covers, by comparing the facts of all pairs."""
    facts, classes = found.facts, found.classes
    covered = np.zeros(len(classes), np.bool_)
    parts = ((classes.offsets, classes.members), facts.flat, facts.sets, facts.patterns, facts.others)
    covered_by_any(*parts, covered)
    return {found.of_class(k) for k in np.flatnonzero(covered).tolist()}


def test_a_search_that_is_given_up_says_what_it_left_open() -> None:
    texts = {f"s{k}": f"i > {k} AND j < {k}" for k in range(3_000)}
    found = Found.among(texts, SCHEMA, most=100)
    assert found.covers.undecided.sum() == 3_000 - 1_024  # all but those that ask for least
    assert not (found.covers.undecided & (found.covers.cover >= 0)).any()


def test_alternatives_are_covered_one_by_one() -> None:
    texts = {
        "a": "i = 1 OR s = 'a'",
        "b": "(i = 1 AND j = 2) OR (s = 'a' AND j = 3)",
        "c": "i = 1 OR s = 'b'",
        "d": "i = 1",
    }
    assert Found.among(texts, SCHEMA).cover == {"b": "a", "d": "a"}


def test_filters_that_say_the_same_in_other_words_are_one() -> None:
    same = ["n IN (1, 2)", "n = 2 OR n = 1", "n = 1 OR n = 2 OR (n = 1 AND i = 5)"]
    found = Found.among(
        {f"s{k}": text for k, text in enumerate([*same, "i > 1 AND i < 3", "i = 2", "i IN (2, 2)"])}, SCHEMA
    )
    assert sorted(map(sorted, found.equal)) == [["s0", "s1", "s2"], ["s3", "s4", "s5"]]


def test_constants_settle_patterns_and_patterns_each_other() -> None:
    texts = {
        "any oak": "s LIKE '%oak%'",
        "the desk": "s = 'oak desk'",
        "two": "s IN ('oak desk', 'an oak') AND i = 1",
        "oak desks": "s LIKE '%oak desk%'",
        "shouted": "s ILIKE '%OAK%' AND i = 2",
        "no oak": "s NOT LIKE '%oak%' AND s LIKE '%oak desk%'",
        "not oak": "s NOT LIKE '%oak%'",
        "pine": "s = 'pine'",
    }
    found = Found.among(texts, SCHEMA)
    assert found.cover == {"the desk": "any oak", "two": "any oak", "oak desks": "any oak", "pine": "not oak"}
    assert found.classes.of[found.ids.index("no oak")] < 0
