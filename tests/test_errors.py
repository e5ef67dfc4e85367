"""How errors read, and that they survive the way back from a worker."""

from __future__ import annotations

import pickle

import pytest

from tamis.errors import EventError, FilterError, FilterSyntaxError, SchemaError, TamisError, Violation


def test_a_filter_error_underlines_the_part_at_fault() -> None:
    error = FilterSyntaxError("expected a number after '>'", "price > and bids < 3", 8, 11)
    assert str(error) == "expected a number after '>'\n  price > and bids < 3\n          ^^^"


def test_only_the_line_at_fault_is_shown() -> None:
    error = FilterError("no such attribute", "price > 3\n\tAND\tprize < 9\nOR sold", 15, 20)
    assert str(error) == "no such attribute\n   AND prize < 9\n       ^^^^^"


def test_an_underline_never_leaves_its_line() -> None:
    assert str(FilterError("unexpected end", "price >", 7, 7)).splitlines()[2] == " " * 9 + "^"
    assert str(FilterError("too long", "price > 3 AND\nx", 0, 15)).splitlines()[2] == "  " + "^" * 13


@pytest.mark.parametrize("start", [0, 500, 995])
def test_a_long_text_is_cut_around_the_fault(start: int) -> None:
    text = "x" * start + "FAULT" + "y" * (995 - start)
    _, line, underline = str(FilterError("wrong", text, start, start + 5)).splitlines()
    assert len(line) < 120
    assert line[underline.index("^") : underline.rindex("^") + 1] == "FAULT"


def test_without_a_text_there_is_only_the_message() -> None:
    assert str(FilterError("too large")) == "too large"


def test_a_schema_error_says_where_what_and_what_would_be_right() -> None:
    error = SchemaError("domain 'flaot' is not defined", "attributes.price", "did you mean 'float'?")
    assert str(error) == "attributes.price: domain 'flaot' is not defined; did you mean 'float'?"


def test_errors_survive_pickling() -> None:
    violation = Violation(3, "price", "domain", "x", "attribute 'price': 'x' is not a number")
    for error in (
        FilterSyntaxError("wrong", "price >", 6, 7),
        SchemaError("wrong", "here", "do this"),
        EventError([violation] * 7),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert isinstance(again, TamisError)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
