"""Bad input is named, and costs nobody else anything."""

from __future__ import annotations

import pyarrow as pa
import pytest

import tamis
from tamis.errors import EventError, FilterError, SubscriptionError
from tests.contract.every import AUCTIONS, answers, every_matcher

BAD = {
    "syntax": "price > AND quantity < 3",
    "unfinished": "price >",
    "empty": "",
    "unknown": "prise > 3",
    "type": "price > 'cheap'",
    "value": "period = 'MCMXX'",
    "order": "colour < 'red'",
    "statement": "SELECT * FROM auctions",
    "pattern": "title RLIKE '(a'",
    "backreference": "title RLIKE '(a)\\1'",
    "subquery": "price IN (SELECT 1)",
    "two": "price > 1; price > 2",
}
GOOD = {"cheap": "price < 10", "old": "period <= 'XVII'"}
EVENT = {"event_type": ["antiques"], "price": 5.0, "period": "XVI"}


@every_matcher
def test_bad_subscriptions_are_reported_by_id_and_the_rest_compile(matcher: str) -> None:
    index = tamis.compile({**BAD, **GOOD}, AUCTIONS, matcher=matcher)
    assert {key for key, _ in index.errors} == set(BAD)
    for key, error in index.errors:
        assert isinstance(error, FilterError)
        assert error.text == BAD[key]
        assert 0 <= error.start <= error.end <= len(error.text)
        assert str(error).startswith(error.message)
    assert len(index) == len(GOOD)
    assert answers(index, [EVENT]) == [sorted(GOOD)]


@every_matcher
def test_a_bad_subscription_among_those_added_is_reported_and_the_rest_are_added(matcher: str) -> None:
    index = tamis.compile(GOOD, AUCTIONS, matcher=matcher)
    index.add({"bad": "prise > 3", "new": "price = 5"})
    assert "bad" in {key for key, _ in index.errors}
    assert answers(index, [EVENT]) == [["cheap", "new", "old"]]
    with pytest.raises(SubscriptionError):
        index.remove(["bad"])


@every_matcher
def test_an_arrow_table_of_subscriptions_with_bad_rows(matcher: str) -> None:
    everything = {**BAD, **GOOD}
    table = pa.table({"id": list(everything), "filter": list(everything.values())})
    index = tamis.compile(table, AUCTIONS, matcher=matcher)
    assert {key for key, _ in index.errors} == set(BAD)
    assert answers(index, [EVENT]) == [sorted(GOOD)]


@every_matcher
def test_an_id_given_twice_is_refused(matcher: str) -> None:
    table = pa.table({"id": ["s", "t", "s"], "filter": ["price > 1", "price > 2", "price > 3"]})
    with pytest.raises(SubscriptionError, match="s"):
        tamis.compile(table, AUCTIONS, matcher=matcher)


@every_matcher
def test_a_table_without_the_right_columns_is_refused_with_their_names(matcher: str) -> None:
    with pytest.raises(tamis.TamisError, match="filter"):
        tamis.compile(pa.table({"id": ["s"], "text": ["price > 1"]}), AUCTIONS, matcher=matcher)


def test_an_unknown_matcher_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(tamis.TamisError, match="columnar"):
        tamis.compile(GOOD, AUCTIONS, matcher="divination")


@every_matcher
@pytest.mark.parametrize(
    ("attribute", "value"), [("price", "cheap"), ("quantity", 1.5), ("period", "MCMXX"), ("title", 3), ("sold", "yes")]
)
def test_an_event_with_a_value_of_the_wrong_kind_is_refused_by_name(
    matcher: str, attribute: str, value: object
) -> None:
    index = tamis.compile(GOOD, AUCTIONS, matcher=matcher)
    with pytest.raises(EventError) as caught:
        index.match([EVENT, {**EVENT, attribute: value}])
    assert [(violation.event, violation.attribute) for violation in caught.value.violations] == [(1, attribute)]


@every_matcher
def test_an_arrow_column_of_the_wrong_type_is_refused_by_name(matcher: str) -> None:
    index = tamis.compile(GOOD, AUCTIONS, matcher=matcher)
    with pytest.raises(tamis.TamisError, match="price"):
        index.match(pa.table({"event_type": [["antiques"]], "price": ["cheap"]}))
