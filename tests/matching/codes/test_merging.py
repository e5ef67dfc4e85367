"""Levels become one level that asks for the same, and for no more than is still there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tamis.matching.codes.columns import Kind
from tamis.matching.columnar.level import ColumnarMatcher
from tamis.testing import Generated, crowds, reference_matches, workloads
from tests.generated import cases
from tests.matching.codes.test_lower import EVENTS, TEXTS
from tests.matching.columnar.subject import SCHEMA, answers, matcher_of, subscriptions_of


def merged(texts: dict[str, str], parts: int, removed: set[str] = frozenset()) -> ColumnarMatcher:  # type: ignore[assignment]
    """The subscriptions put into so many levels, some removed, then made one."""
    matcher = ColumnarMatcher(SCHEMA, (), None)
    ids = list(texts)
    levels = [matcher_of({id: texts[id] for id in ids[part::parts]})._levels[0] for part in range(parts)]
    matcher._levels = tuple(levels)
    matcher.remove(removed)
    matcher.fold()
    assert len(matcher._levels) == 1
    return matcher


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_every_comparison_survives_two_merges(parts: int) -> None:
    matcher = merged(TEXTS, parts, removed={"n = 3", "tags LIKE '%b_'"})
    kept = {id: text for id, text in TEXTS.items() if id not in ("n = 3", "tags LIKE '%b_'")}
    assert answers(matcher, EVENTS) == reference_matches(kept, SCHEMA, EVENTS)
    matcher.remove(["n < 4"])
    matcher.fold()
    del kept["n < 4"]
    assert answers(matcher, EVENTS) == reference_matches(kept, SCHEMA, EVENTS)
    assert sorted(matcher.ids().to_pylist()) == sorted(kept)
    assert all(matcher.text(id) == text for id, text in kept.items())


def _folded(workload: Generated) -> None:
    ids = list(workload.subscriptions)
    half = len(ids) // 2
    first = {id: workload.subscriptions[id] for id in ids[:half]}
    matcher = ColumnarMatcher.build(subscriptions_of(first, workload.schema), workload.schema, None)
    rest = {id: workload.subscriptions[id] for id in ids[half:]}
    matcher._levels += ColumnarMatcher.build(subscriptions_of(rest, workload.schema), workload.schema, None)._levels
    matcher.remove(ids[::3])
    matcher.fold()
    kept = {id: text for id, text in workload.subscriptions.items() if id not in set(ids[::3])}
    expected = reference_matches(kept, workload.schema, workload.events)
    assert answers(matcher, workload.events, workload.schema) == expected


@settings(max_examples=cases(60))
@given(workload=workloads())
def test_two_levels_made_one_answer_as_the_oracle_does(workload: Generated) -> None:
    _folded(workload)


@settings(max_examples=cases(15))
@given(workload=crowds())
def test_two_crowds_made_one_answer_as_the_oracle_does(workload: Generated) -> None:
    _folded(workload)


def test_what_only_removed_subscriptions_asked_for_is_forgotten() -> None:
    texts = {f"{k}": f"s = 'v{k}' AND n > {k} AND t LIKE '%x{k}%' AND f IN ({k}, {k}.5)" for k in range(100)}
    matcher = merged(texts, 2, removed={str(k) for k in range(10, 100)})
    (level,) = matcher._levels
    assert {name: len(dictionary) for name, dictionary in level.encoder.dictionaries.items()} == {
        "s": 10,
        "n": 10,
        "f": 20,
    }
    assert len(level.encoder.patterns["t"]) == 10
    assert len(level.names) == 10
    assert answers(matcher, [{"s": "v3", "n": 9, "t": "-x3-", "f": 3.5}]) == [["3"]]


def test_gaps_between_constants_keep_their_place_among_new_constants() -> None:
    first = {"between": "f > 1 AND f < 2", "above": "f > 2", "below": "f < 1", "prefix": "s LIKE 'b%'"}
    second = {f"f = 1.{k}": f"f = 1.{k}" for k in range(1, 10)} | {"bb": "s = 'bb'", "c": "s > 'b'"}
    events = [{"f": f} for f in (0.5, 1.0, 1.05, 1.1, 1.95, 2.0, 2.5)] + [{"s": s} for s in ("b", "bb", "bz", "c", "a")]
    matcher = merged(first | second, 2)
    assert answers(matcher, events) == reference_matches(first | second, SCHEMA, events)


def test_lists_of_every_length_survive_alone_and_in_crowds() -> None:
    texts = {f"{k}-{n}": f"n IN ({', '.join(str(k + 3 * i) for i in range(n))})" for k in range(12) for n in (2, 3, 20)}
    texts |= {f"not {k}": f"n NOT IN ({k}, {k + 1})" for k in range(12)}
    texts |= {f"all {k}": "n IN (5, 7, 9) AND n NOT IN (7, 8)" for k in range(3)}
    events = [{"n": n} for n in range(-1, 75)]
    assert answers(merged(texts, 3), events) == reference_matches(texts, SCHEMA, events)


def test_a_merge_does_not_lose_the_order_of_strings() -> None:
    # The first level compares `s` by order, the second does not.
    matcher = merged({"less": "s < 'm'", "equal": "s = 'x'"}, 2)
    assert answers(matcher, [{"s": "a"}, {"s": "n"}, {"s": "x"}]) == [["less"], [], ["equal"]]


def test_a_merge_with_nothing_left_is_an_empty_level() -> None:
    matcher = merged({"a": "n = 1", "b": "tags = 'x'"}, 2, removed={"a", "b"})
    assert len(matcher) == 0
    assert answers(matcher, [{"n": 1}]) == [[]]
    assert {column.kind for level in matcher._levels for column in level.encoder.columns} <= set(Kind)
