"""Operators and filters that mean no good: everything else goes on, and what is refused says why."""

from __future__ import annotations

from typing import Any

import pytest
from sqlglot import exp
from sqlglot.tokens import Tokenizer

import tamis
from tamis.language.syntax import WORDS
from tamis.operators import joining
from tests.operators.places import SCHEMA

EVENT = {"lat": 1.0, "lon": 2.0}


class Rude(BaseException):
    pass


@pytest.mark.parametrize("limit", [None, 30.0])
@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), Rude("no"), RecursionError("deep"), MemoryError()])
def test_whatever_an_operator_raises_is_its_own_failure(error: BaseException, limit: float | None) -> None:
    @tamis.operator(time_limit=limit)
    def bad(lat: float) -> bool:
        raise error

    index = tamis.compile({"bad": "bad()", "good": "lat > 0", "not": "NOT bad()"}, SCHEMA, operators=[bad])
    assert index.match([EVENT]).to_lists() == [["good"]]
    assert index.operators["bad"].tally.timeouts == 0
    assert index.operators["bad"].tally.failures == 1
    assert type(error).__name__ in index.operators["bad"].tally.last_failure


@pytest.mark.parametrize(
    "answer", [b"ab", bytearray(b"ab"), object(), {1: 2}, [[1, 2]], [None], [b"x"], 1j, [float("nan")]]
)
def test_garbage_is_unknown(answer: object) -> None:
    @tamis.operator
    def bad(lat: float, x: Any = tamis.Var) -> Any:
        return answer

    index = tamis.compile({"bad": "bad(?x)", "not": "NOT bad(?x)"}, SCHEMA, operators=[bad])
    assert index.match([EVENT]).to_lists() == [[]]
    assert index.operators["bad"].tally.failures == 1


@tamis.operator
def many(lat: float, k: int, a: int = tamis.Var) -> Any:
    return range(k)


def test_a_join_that_grows_too_large_is_given_up_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_STEPS", 5_000)
    texts = {
        "none": "many(900, ?a) AND many(901, ?b) AND ?a + ?b < 0",
        "some": "many(900, ?a) AND many(901, ?b) AND ?a + ?b < 1000",
        "plain": "lat > 0 OR many(900, ?a) AND many(901, ?b) AND ?a + ?b < 0",
    }
    index = tamis.compile(texts, SCHEMA, operators=[many])
    found = index.match([EVENT])
    assert sorted(found.to_lists()[0]) == ["plain", "some"]
    (bound,) = found.bindings()
    assert bound.variables == {"a": 0, "b": 0}
    assert index.operators["many"].tally.too_large == 1
    assert "combinations" in str(index.operators["many"])
    explanation = index.explain(EVENT, "none")
    assert not explanation.matched
    assert explanation.first_failure is not None
    assert explanation.first_failure.state == "unknown"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" AND ".join(f"many({k}, ?x)" for k in range(1_000)), "1,000 calls with variables and comparisons of these"),
        (" OR ".join(f"many({k}, 1)" for k in range(3_000)), "3,000 alternatives or more"),
        (" AND ".join(f"(many({k}, 1) OR many({k}, 2))" for k in range(30)), "alternatives or more"),
        ("many(1, ?x) AND " + " + ".join(["?x"] * 200) + " > 1", "200 terms in a comparison"),
        ("many(1, ?x) AND " + " + ".join(["?x"] * 5_000) + " > 1", "nested too deeply"),
    ],
)
def test_filters_that_would_take_forever_are_refused(text: str, message: str) -> None:
    index = tamis.compile({"s": text}, SCHEMA, operators=[many])
    assert message in str(index.errors[0][1])


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        ("?x / 0 = 1", False),
        ("NOT ?x / 0 = 1", False),
        ("1 / (?x - ?x) != 1", False),
        ("?x * 1e308 * 1e308 > 0", True),
        ("?x * 1e308 * 1e308 * 0 = 0", False),
        ("?x * 9223372036854775807 * 9223372036854775807 > 9223372036854775806", True),
        ("?x + 9007199254740993 = 9007199254740995", True),
    ],
)
def test_arithmetic_without_a_result_does_not_hold(constraint: str, holds: bool) -> None:
    index = tamis.compile({"s": f"many(3, ?x) AND ?x >= 2 AND {constraint}"}, SCHEMA, operators=[many])
    oracle = tamis.compile({"s": f"many(3, ?x) AND ?x >= 2 AND {constraint}"}, SCHEMA, "naive", operators=[many])
    assert bool(len(index.match([EVENT]))) == bool(len(oracle.match([EVENT]))) == holds


def _names() -> list[str]:
    functions = {name for each in exp.ALL_FUNCTIONS for name in each.sql_names()}
    words = {word for word in Tokenizer.KEYWORDS if word.isidentifier()}
    return sorted(name.lower() for name in (functions | words | {"in_area", "count", "left", "date"}) - set(WORDS))


def test_an_operator_may_have_any_name_that_is_no_word_of_the_language() -> None:
    for name in _names():
        operator = tamis.operator(name=name)(lambda lat, k: lat > k)
        index = tamis.compile({"s": f"NOT {name}(3) AND {name}(0)"}, SCHEMA, operators=[operator])
        assert not index.errors, (name, index.errors)
        assert index.match([EVENT]).to_lists() == [["s"]], name


def test_names_are_told_apart_by_case() -> None:
    index = tamis.compile({"s": "Many(3)"}, SCHEMA, operators=[many])
    assert "did you mean many?" in str(index.errors[0][1])


def test_inputs_and_arguments_may_stand_in_any_order() -> None:
    @tamis.operator(reads=("lat", "lon"))
    def mixed(k: int, lat: float, *, lon: float, m: int = 5) -> bool:
        return (k, lat, lon, m) == (7, 1.0, 2.0, 5)

    index = tamis.compile({"s": "mixed(7)", "t": "mixed(1)"}, SCHEMA, operators=[mixed])
    oracle = tamis.compile({"s": "mixed(7)", "t": "mixed(1)"}, SCHEMA, "naive", operators=[mixed])
    assert index.match([EVENT]).to_lists() == oracle.match([EVENT]).to_lists() == [["s"]]
