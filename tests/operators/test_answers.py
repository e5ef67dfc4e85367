"""What functions return, in every form that is taken, and what is said of the others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tamis
from tamis.errors import OperatorError
from tamis.language.calls import Call, Moment, Variable
from tamis.operators import asking as answers
from tamis.operators.asking import NO, UNTOLD, YES, read_batch, read_scalar
from tamis.operators.predicates import Predicate, Predicates
from tamis.operators.registry import resolve
from tests.operators.places import SCHEMA


def _of(lat: float, a: int = tamis.Var, b: str = tamis.Var, c: Any = tamis.Var, d: datetime = tamis.Var) -> Any: ...


def predicate(*arguments: Any) -> Predicate:
    """`of(...)` with these arguments; a string with a question mark is a variable."""
    found = Predicates({"of": resolve(tamis.operator(name="of")(_of), SCHEMA)})
    parts = tuple(Variable(one) if isinstance(one, str) and one.startswith("?") else one for one in arguments)
    return found[found.number(Call("of", parts))]


PLAIN = predicate(1, "x", 1, Moment(0))
ONE = predicate("?a", "x", 1, Moment(0))
TWO = predicate("?a", "?b", 1, Moment(0))
SAME = predicate("?a", "x", "?a", Moment(0))
WHEN = predicate(1, "x", 1, "?d")


@pytest.mark.parametrize(("returned", "answer"), [(True, YES), (np.bool_(False), NO), (None, UNTOLD)])
def test_truth_is_true_false_or_none(returned: object, answer: object) -> None:
    assert read_scalar(returned, PLAIN) == answer


@pytest.mark.parametrize(
    ("returned", "asked", "bindings"),
    [
        ([3, 1, 3], ONE, ((1,), (3,))),
        (5, ONE, ((5,),)),
        (np.int64(5), ONE, ((5,),)),
        (np.array([2.0, 1.0]), ONE, ((1,), (2,))),
        ({"a": 4}, ONE, ((4,),)),
        ((n for n in (2, 1)), ONE, ((1,), (2,))),
        ([(2, "y"), (1, "z")], TWO, ((1, "z"), (2, "y"))),
        ([{"b": "y", "a": 2}], TWO, ((2, "y"),)),
        ([(1, 1.0), (1, 2), (1, True)], SAME, ((1,),)),
        ([datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)], WHEN, ((Moment(1_000_000),),)),
        ([], ONE, ()),
        (False, TWO, ()),
        ([(1, "x")], SAME, ()),
    ],
)
def test_bindings_come_as_values_tuples_or_dicts(returned: object, asked: Predicate, bindings: Any) -> None:
    answer = read_scalar(returned, asked)
    assert answer.bindings == bindings
    assert answer.truth == (1 if bindings else 0)


@pytest.mark.parametrize(
    ("returned", "asked", "message"),
    [
        (True, ONE, "returned True for a call with variables"),
        ([1], PLAIN, "returned a list for a call without variables"),
        (object(), ONE, "return the variables' bindings"),
        ([(1, 2)], ONE, "2 values for 1 variables"),
        ([1], TWO, r"1 values for 2 variables \(a, b\)"),
        ([{"a": 1}], TWO, "a binding without b"),
        (["x"], ONE, "bound a variable to 'x', which is not an int"),
        ([2.5], ONE, "bound a variable to 2.5"),
        ([True], ONE, "bound a variable to True"),
        ([2**63], ONE, "which is not an int"),
        ([float("nan")], predicate(1, "x", "?c", Moment(0)), "bound a variable to nan"),
        ([b"raw"], predicate(1, "x", "?c", Moment(0)), "which is not a number, str, bool or datetime"),
    ],
)
def test_what_makes_no_sense_is_refused(returned: object, asked: Predicate, message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        read_scalar(returned, asked)


def test_bindings_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_BINDINGS", 10)

    def forever() -> Any:
        number = 0
        while True:
            yield (number := number + 1)

    with pytest.raises(OperatorError, match="more than 10 bindings"):
        read_scalar(forever(), ONE)


@pytest.mark.parametrize(
    "returned",
    [pa.array([True, False, None]), pa.chunked_array([[True], [False, None]]), [True, np.bool_(False), None]],
)
def test_a_batch_answers_for_every_row(returned: object) -> None:
    answers = read_batch(returned, PLAIN, 3)
    assert [answers[place] for place in range(3)] == [YES, NO, UNTOLD]


def test_a_batch_binds_by_row() -> None:
    table = pa.table({"row": [2, 0, 2], "a": [5, 1, 4], "more": ["x", "y", "z"]})
    answers = read_batch(table, ONE, 3)
    assert [answers[place].bindings for place in range(3)] == [((1,),), (), ((4,), (5,))]
    assert read_batch({"row": [], "a": []}, ONE, 2)[1] == NO


@pytest.mark.parametrize(
    ("returned", "asked", "message"),
    [
        (pa.array([1, 0]), PLAIN, "an array of int64"),
        ([True], PLAIN, "1 answers for 2 events"),
        ([True, 1], PLAIN, "returned 1 among its answers"),
        (True, PLAIN, "return an Arrow array of booleans"),
        ([[1], [2]], ONE, "return a table with row"),
        ({"row": [0]}, ONE, "a table without a column a"),
        ({"row": [2], "a": [1]}, ONE, "a binding for row 2, and there are 2"),
        ({"row": [0], "a": ["x"]}, ONE, "which is not an int"),
    ],
)
def test_a_batch_that_makes_no_sense_is_refused(returned: object, asked: Predicate, message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        read_batch(returned, asked, 2)


def test_calls_unify_iff_constants_agree_and_variables_do() -> None:
    found = Predicates({"of": resolve(tamis.operator(name="of")(_of), SCHEMA)})

    def number(*parts: Any) -> int:
        return found.number(Call("of", parts))

    a, b, x, y = Variable("a"), Variable("b"), Variable("x"), Variable("y")
    assert number(a, "c", b, x) == number(x, "c", y, a)
    assert number(a, "c", b, x) != number(a, "c", a, x)
    assert number(a, "c", 1, x) != number(a, "c", True, x)
    assert number(a, "c", 1, x) == number(a, "c", 1, y)
    assert str(found[number(x, "c", y, x)]) == "of(?x1, 'c', ?x2, ?x1)"
