"""Every literal of a normal form is said in intervals, tests and lists, in the way that is found soonest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tamis.matching.codes.columns import Column, Kind
from tamis.matching.codes.encoding import LISTED, NEGATED
from tamis.matching.codes.lower import MOST_ALTERNATIVES
from tamis.matching.columnar.level import ColumnarLevel
from tamis.testing import reference_matches
from tests.matching.columnar.subject import SCHEMA, found, level_of

EVENTS: list[dict[str, Any]] = [
    {},
    {"n": 3, "f": 2.5, "s": "abc", "flag": True, "period": "XVI", "kind": "cot", "colour": "red"},
    {"n": 4, "f": 3.0, "s": "ab", "flag": False, "period": "XVII", "kind": "bed", "colour": "green"},
    {"n": 5, "f": 3.5, "s": "a%", "period": "modern", "kind": "chair", "era": "XVIII"},
    {"n": -(2**63), "m": 2**63 - 1, "s": "", "t": "x", "period": "XVIII", "kind": "seat"},
    {"sizes": [3], "tags": ["abc"], "marks": [2.5], "kinds": ["cot", "chair"], "periods": ["modern"]},
    {"sizes": [2, 5], "tags": ["x", "ab"], "marks": [-1.0, 9.0], "kinds": ["seat"], "periods": ["XVI", "XVIII"]},
    {"sizes": [4, 3, 4], "tags": ["abd", ""], "kinds": ["bed"], "n": 3, "m": 3},
    {"at": 1_714_557_600_000_000, "until": 1_714_557_600_000_001, "sizes": [9], "n": 10, "t": "ab", "s": "ab"},
]
COMPARISONS = [
    "n = 3", "n < 4", "n <= 4", "n > 3", "n >= 4", "n BETWEEN 3 AND 4", "n IN (3, 5)", "n = 2.5", "n > 2.5",
    "n = 9223372036854775808", "f = 3", "f < 3", "f <= 3", "f > 2.5 AND f < 3.5", "f IN (2.5, 3.5, 7)",
    "f = 9007199254740993", "s = 'ab'", "s < 'abc'", "s > 'ab'", "s BETWEEN 'ab' AND 'abc'", "s IN ('', 'abc')",
    "s LIKE 'abc'", "s LIKE 'ab%'", "s LIKE '%'", "s LIKE ''", "s LIKE '%b'", "s LIKE 'a\\%'", "s LIKE 'a_c'",
    "s ILIKE 'AB%'", "s RLIKE '^ab'", "flag", "flag = FALSE", "flag IN (TRUE, FALSE)", "period = 'XVI'",
    "period < 'XVIII'", "period <= 'XVI'", "period >= 'XVI'", "period > 'XVIII'", "period IN ('modern', 'XVI')",
    "kind <= 'bed'", "kind < 'bed'", "kind >= 'cot'", "kind > 'cot'", "kind < 'cot'", "colour = 'red'",
    "n IS NULL", "n IS NOT NULL", "sizes IS NULL", "sizes IS NOT NULL", "at = '2024-05-01 10:00:00'", "at < until",
    "n = m", "n < m", "n <= m", "s = t", "sizes > n", "sizes = m", "period < era", "sizes = 3", "sizes < 3",
    "sizes > 3", "sizes BETWEEN 3 AND 4", "sizes IN (2, 9)", "sizes = 3 AND sizes = 4", "tags CONTAINS 'ab'",
    "tags LIKE 'ab%'", "tags LIKE 'abc'", "tags LIKE '%b_'", "tags > 'abc'", "tags IN ('', 'x')", "marks < 0",
    "marks BETWEEN 0 AND 8", "kinds <= 'bed'", "kinds < 'seat'", "kinds >= 'chair'", "periods < 'XVII'",
    "periods <= 'XVIII'", "event_type = 'thing'", "TRUE", "FALSE", "n > 4 AND n < 4", "n > 1 OR s = 'ab'",
    "n IN (3, 4) OR n IN (4, 5) OR tags = 'x'", "f > 1 AND NOT s = 'ab' AND n IS NOT NULL",
]  # fmt: skip
TEXTS = {text: text for form in COMPARISONS for text in (form, f"NOT ({form})")}


def kinds_of(level: ColumnarLevel) -> set[Kind]:
    return {column.kind for column in level.encoder.columns}


@pytest.mark.parametrize("text", TEXTS)
def test_every_comparison_and_its_negation_means_what_it_says(text: str) -> None:
    assert found(level_of({text: text}), EVENTS) == reference_matches({text: text}, SCHEMA, EVENTS)


@pytest.mark.parametrize("copies", [1, 9])
def test_all_of_them_together_mean_what_they_say(copies: int) -> None:
    texts = {f"{text} #{copy}": text for text in TEXTS for copy in range(copies)}
    assert found(level_of(texts), EVENTS) == reference_matches(texts, SCHEMA, EVENTS)


def test_several_conditions_on_one_attribute_become_one_interval() -> None:
    level = level_of([f"n > {k} AND n < {k + 9} AND n >= {k + 2} AND n != 7" for k in range(20)])
    assert np.diff(level.conjuncts.offsets).tolist() == [1] * 20
    assert level.conjuncts.test_flags.tolist() == [NEGATED]


def test_a_conjunction_that_contradicts_itself_keeps_its_number_and_no_entry() -> None:
    # All in one shape, so the language cannot see which of them is empty.
    level = level_of([f"n > {k} AND n < 10" for k in range(20)])
    assert len(level) == 20
    assert len(level.conjuncts) == 9  # n > 8 AND n < 10 is the last one that some integer satisfies
    assert found(level, [{"n": 9}]) == [sorted(str(k) for k in range(9))]


def test_more_intervals_than_a_segment_holds_are_tested_one_by_one() -> None:
    from tamis.schema import Schema

    names = [f"a{k}" for k in range(100)]
    schema = Schema.from_dict(
        {"attributes": dict.fromkeys(names, "integer"), "event_types": {"e": dict.fromkeys(names, "optional")}}
    )
    texts = {
        str(count): " AND ".join(f"{name} >= {k}" for k, name in enumerate(names[:count]))
        for count in (1, 30, 31, 32, 59, 60, 61, 62, 64, 65, 100)
    }
    level = level_of(texts, schema)
    assert int(np.diff(level.conjuncts.offsets).max()) == 60
    assert len(level.conjuncts.tests) == 1 + 2 + 4 + 5 + 40
    held = {name: k for k, name in enumerate(names)}
    events = [held, *({**held, name: held[name] - 1} for name in names), {"a0": 0}]
    assert found(level, events, schema) == reference_matches(texts, schema, events)


def test_a_pattern_without_wildcards_is_an_equality() -> None:
    level = level_of([f"s LIKE 'a\\\\{c}'" for c in "bcdefghijklmnopqrstu"])
    assert kinds_of(level) == {Kind.VALUE}
    assert (level.conjuncts.lows == level.conjuncts.highs).all()


def test_a_prefix_on_a_single_valued_attribute_is_an_interval() -> None:
    level = level_of([f"s LIKE 'a{c}%'" for c in "bcdefghijklmnopqrstu"])
    assert kinds_of(level) == {Kind.VALUE}
    assert len(level.conjuncts.tests) == 0
    assert found(level, [{"s": "ab"}, {"s": "abz\U0010ffff"}, {"s": "ac"}, {"s": "a"}]) == [["0"], ["0"], ["1"], []]


def test_patterns_of_one_shape_go_each_its_own_way() -> None:
    patterns = ["abc", "ab%", "%bc", "a_c", "%", "", "x\\%", "x\\%%", "\\_%_"] * 3
    texts = {f"{k}": f"s LIKE '{pattern}' AND t LIKE '{pattern[::-1]}x'" for k, pattern in enumerate(patterns)}
    texts |= {f"not {k}": f"NOT (s LIKE '{pattern}')" for k, pattern in enumerate(patterns)}
    events = [{"s": s, "t": t} for s in ("abc", "ab", "x%", "x%y", "_a", "") for t in ("cbax", "x", "bx", "cb")]
    texts = {key: text for key, text in texts.items() if not text.endswith("\\x'")}
    assert found(level_of(texts), events) == reference_matches(texts, SCHEMA, events)


def test_a_list_on_a_single_valued_attribute_is_one_conjunction() -> None:
    level = level_of([f"n IN ({k}, {k + 5}, {k + 9})" for k in range(20)])
    assert len(level.conjuncts) == 20
    assert set(level.conjuncts.test_flags.tolist()) == {LISTED}


def test_a_value_listed_twice_is_found_once() -> None:
    texts = {str(k): f"n IN ({k}, {k}, {k + 7})" for k in range(2000)}
    level = level_of(texts)
    assert len(level._groups) > 0
    assert found(level, [{"n": 5}, {"n": 9}]) == [["5"], ["2", "9"]]


def test_a_short_list_on_a_multiple_valued_attribute_is_that_many_conjunctions() -> None:
    level = level_of([f"sizes IN ({k}, {k + 1}, {k + 2}) AND tags IN ('a', 'b')" for k in range(20)])
    assert len(level.conjuncts) == 20 * 6
    assert found(level, [{"sizes": [3, 4, 30], "tags": ["a", "b"]}]) == [["1", "2", "3", "4"]]


def test_a_long_list_on_a_multiple_valued_attribute_is_tested() -> None:
    listed = ", ".join(str(2 * k) for k in range(MOST_ALTERNATIVES + 1))
    level = level_of({"in": f"sizes IN ({listed})", "out": f"sizes NOT IN ({listed})"})
    assert len(level.conjuncts) == 2
    events = [{"sizes": [1, 128]}, {"sizes": [1, 130]}, {"sizes": []}, {"sizes": [-1, 0, 1]}]
    assert found(level, events) == [["in"], ["out"], [], ["in"]]


def test_a_huge_list_is_one_test() -> None:
    listed = ", ".join(str(3 * k) for k in range(20_000))
    level = level_of({"in": f"n IN ({listed})", "out": f"n NOT IN ({listed})", "s": "n = 6"})
    assert found(level, [{"n": 6}, {"n": 7}, {"n": 59_997}, {"n": 60_000}]) == [["in", "s"], ["out"], ["in"], ["out"]]


def test_thousands_of_orders_in_one_shape_are_lowered_by_value() -> None:
    values = ["bed", "cot", "seat", "chair", "bench"]
    texts = {str(k): f"kind <= '{values[k % 5]}' AND n > {k}" for k in range(3000)}
    events = [{"kind": "cot", "n": 100}, {"kind": "seat", "n": 50}]
    assert found(level_of(texts), events) == reference_matches(texts, SCHEMA, events)


def test_presence_needs_no_constants() -> None:
    level = level_of({"n": "n IS NOT NULL", "s": "s IS NULL", "tags": "tags IS NOT NULL"})
    assert {column.attribute: column.kind for column in level.encoder.columns} == {
        "n": Kind.VALUE,
        "s": Kind.VALUE,
        "tags": Kind.GREATEST,
    }
    assert all(len(dictionary) == 0 for dictionary in level.encoder.dictionaries.values())
    assert found(level, [{}, {"n": 1, "s": "", "tags": ["x"]}]) == [["s"], ["n", "tags"]]


def test_attributes_compared_with_each_other_are_one_column_for_every_subscription() -> None:
    level = level_of([f"n < m AND f > {k}" for k in range(20)] + ["m > n"])
    assert [c for c in level.encoder.columns if c.kind is Kind.VERSUS] == [Column(Kind.VERSUS, "n", "<", "m")]
