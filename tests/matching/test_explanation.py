"""An explanation shows every condition of the normal form, what the event has for it, and what failed first."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.errors import FilterTooComplex
from tamis.language import Limits
from tamis.language.predicates import Literal
from tamis.matching.conditions import Evaluator, evaluator_of
from tamis.matching.explanation import explain
from tamis.schema import Schema
from tests.matching.columnar.subject import SCHEMA


def test_a_condition_is_held_failed_or_absent() -> None:
    explanation = explain("n > 3 AND s = 'x' AND f < 1", {"n": 5, "s": "y"}, SCHEMA)
    assert not explanation.matched
    ((f, n, s),) = explanation.alternatives
    assert (f.condition, f.state, f.values) == ("f < 1", "absent", {"f": []})
    assert (n.condition, n.state, n.values) == ("n >= 4", "held", {"n": [5]})
    assert (s.condition, s.state, s.values) == ("s = 'x'", "failed", {"s": ["y"]})
    assert explanation.first_failure == f
    assert str(explanation).splitlines() == [
        "no match",
        "  absent f < 1   (f = absent)",
        "  held   n >= 4   (n = 5)",
        "  failed s = 'x'   (s = 'y')",
        "first to fail: f < 1",
    ]


def test_the_alternative_that_came_furthest_names_the_failure() -> None:
    explanation = explain("(n = 1 AND m = 1) OR (n = 2 AND m = 2 AND f > 3)", {"n": 2, "m": 2, "f": 1.0}, SCHEMA)
    assert len(explanation.alternatives) == 2
    assert explanation.first_failure is not None
    assert explanation.first_failure.condition == "f > 3"
    assert "\n or\n" in str(explanation)


def test_one_alternative_is_enough_to_match() -> None:
    explanation = explain("n = 1 OR tags = 'a'", {"tags": ["b", "a"]}, SCHEMA)
    assert explanation.matched
    assert explanation.first_failure is None
    assert str(explanation).startswith("match\n")


def test_a_filter_that_is_always_or_never_true() -> None:
    always, never = explain("TRUE", {}, SCHEMA), explain("n > 2 AND n < 2", {"n": 2}, SCHEMA)
    assert always.matched
    assert str(always) == "match\n  held   TRUE"
    assert not never.matched
    assert never.first_failure is None
    assert "contradicts itself" in str(never)


def test_negations_and_comparisons_of_two_attributes() -> None:
    explanation = explain("n != 3 AND n < m AND s IS NULL", {"n": 3, "s": "x"}, SCHEMA)
    states = {verdict.condition: verdict.state for verdict in explanation.alternatives[0]}
    assert states == {"n != 3": "failed", "n < m": "absent", "s IS NULL": "failed"}


def test_a_filter_is_explained_under_the_limits_it_was_accepted_under() -> None:
    text = " OR ".join(f"(n > {2 * k} AND m < {k})" for k in range(30))
    with pytest.raises(FilterTooComplex):
        explain(text, {"n": 1}, SCHEMA, Limits(conjuncts=10))
    assert not explain(text, {"n": 1}, SCHEMA).matched


def test_each_distinct_condition_is_evaluated_once_however_many_alternatives_it_is_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Literal] = []

    def counting(literal: Literal, schema: Schema) -> Evaluator:
        def holds(*values: Any) -> bool:
            asked.append(literal)
            return evaluator_of(literal, schema)(*values)

        return holds

    monkeypatch.setattr("tamis.matching.conditions.evaluator_of", counting)
    clauses = [f"(s LIKE '%a_{k}%' OR s LIKE '%b_{k}%')" for k in range(8)]
    explanation = explain(" AND ".join(clauses), {"s": "a" * 1_000 + "b"}, SCHEMA)
    assert (len(explanation.alternatives), {len(each) for each in explanation.alternatives}) == (256, {8})
    assert len(asked) == len(set(asked)) == 16


def test_verdicts_on_one_attribute_share_its_values() -> None:
    explanation = explain("n = 1 AND m = 1 OR n = 2 AND s = 'x' OR n > 7 AND f < 1", {"n": 2}, SCHEMA)
    seen = [verdict.values["n"] for each in explanation.alternatives for verdict in each if "n" in verdict.values]
    assert len(seen) == 3
    assert all(one is seen[0] for one in seen)


def test_an_explanation_in_words_quotes_the_beginning_of_a_long_value() -> None:
    text = str(explain("s LIKE '%b' AND n = 1", {"s": "a" * 100_000, "n": 1}, SCHEMA))
    assert "100,000" in text
    assert len(text) < 1_000
