"""From nothing at all to hundreds of attributes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tamis
from tamis.schema import Schema
from tamis.testing import reference_matches
from tests.contract.every import AUCTIONS, answers, every_matcher

ANTIQUE = {"event_type": ["antiques"]}


@every_matcher
def test_an_empty_index_matches_nothing(matcher: str) -> None:
    index = tamis.compile({}, AUCTIONS, matcher=matcher)
    matches = index.match([ANTIQUE, {**ANTIQUE, "price": 1.0}])
    assert len(index) == 0
    assert len(matches) == 0
    assert matches.events == 2
    assert matches.to_lists() == [[], []]
    assert matches.to_arrow().num_rows == 0


@every_matcher
def test_no_events_give_no_matches(matcher: str) -> None:
    index = tamis.compile({"s": "price > 1", "t": "TRUE"}, AUCTIONS, matcher=matcher)
    empty: list[Any] = [[], pa.table({"price": pa.array([], pa.float64())})]
    for nothing in empty:
        matches = index.match(nothing)
        assert (len(matches), matches.events, matches.to_lists()) == (0, 0, [])
        assert matches.offsets.tolist() == [0]


@every_matcher
def test_only_filters_that_never_match(matcher: str) -> None:
    index = tamis.compile({"s": "FALSE", "t": "price > 2 AND price < 1"}, AUCTIONS, matcher=matcher)
    assert len(index) == 2
    assert answers(index, [{**ANTIQUE, "price": 1.5}]) == [[]]
    index.remove(["s"])
    assert len(index) == 1


@every_matcher
def test_only_filters_that_always_match(matcher: str) -> None:
    index = tamis.compile({"s": "TRUE", "t": "price IS NULL OR price IS NOT NULL"}, AUCTIONS, matcher=matcher)
    assert answers(index, [{**ANTIQUE, "price": 1.5}, ANTIQUE]) == [["s", "t"], ["s", "t"]]


@every_matcher
def test_a_disjunction_is_counted_once(matcher: str) -> None:
    text = "price > 1 OR price > 2 OR quantity = 3 OR tags CONTAINS 'red' OR title LIKE 'a%'"
    index = tamis.compile({"s": text, "t": "quantity = 3"}, AUCTIONS, matcher=matcher)
    event = {**ANTIQUE, "price": 3.0, "quantity": 3, "tags": ["red", "red"], "title": "abc"}
    matches = index.match([event, event])
    assert len(matches) == 4
    assert [sorted(ids) for ids in matches.to_lists()] == [["s", "t"], ["s", "t"]]


@every_matcher
def test_many_values_are_counted_once(matcher: str) -> None:
    index = tamis.compile({"s": "sizes > 3", "t": "sizes IN (4, 5, 6)"}, AUCTIONS, matcher=matcher)
    assert answers(index, [{**ANTIQUE, "sizes": [4, 5, 6, 4, 7] * 20}]) == [["s", "t"]]


@every_matcher
def test_equal_filters_under_different_ids_all_match(matcher: str) -> None:
    subscriptions = {f"s{k}": "quantity = 3 AND price < 10" for k in range(500)}
    index = tamis.compile(subscriptions, AUCTIONS, matcher=matcher)
    assert len(index.match([{**ANTIQUE, "quantity": 3, "price": 1.0}])) == 500


@every_matcher
def test_hundreds_of_attributes(matcher: str) -> None:
    subscriptions, schema, events, expected = _wide()
    index = tamis.compile(subscriptions, schema, matcher=matcher)
    assert sum(map(len, expected)) > 100
    assert answers(index, events) == expected


@cache
def _wide() -> tuple[dict[str, str], Schema, list[dict[str, int]], list[list[str]]]:
    """Filters and events over 400 attributes, with the oracle's answer."""
    names = [f"a{k}" for k in range(400)]
    schema = Schema.from_dict(
        {"attributes": dict.fromkeys(names, "integer"), "event_types": {"event": dict.fromkeys(names, "optional")}}
    )
    rng = np.random.default_rng(1)
    subscriptions = {}
    for number in range(800):
        chosen = rng.choice(400, rng.integers(1, 5), replace=False)
        subscriptions[f"s{number}"] = " AND ".join(
            f"a{k} = {rng.integers(3)}" if rng.random() < 0.5 else f"a{k} > {rng.integers(3)}" for k in chosen
        )
    events = [{f"a{k}": int(rng.integers(4)) for k in range(400) if rng.random() < 0.7} for _ in range(20)]
    return subscriptions, schema, events, reference_matches(subscriptions, schema, events)


@every_matcher
def test_a_filter_with_hundreds_of_conditions(matcher: str) -> None:
    wide = " AND ".join([f"quantity != {k}" for k in range(300)])
    listed = f"quantity IN ({', '.join(map(str, range(0, 3000, 3)))})"
    either = " OR ".join(f"price = {k}.5" for k in range(200))
    index = tamis.compile({"wide": wide, "listed": listed, "either": either}, AUCTIONS, matcher=matcher)
    events = [{**ANTIQUE, "quantity": q, "price": p} for q, p in ((300, 7.5), (299, 1.0), (3, 199.5))]
    assert index.errors == []
    assert answers(index, events) == [["either", "listed", "wide"], [], ["either", "listed"]]


@every_matcher
@pytest.mark.parametrize("length", [1, 100, 70_000])
def test_strings_of_any_length(matcher: str, length: int) -> None:
    text = "é" * length
    index = tamis.compile({"s": f"title = '{text}'", "t": f"title > '{text}'"}, AUCTIONS, matcher=matcher)
    assert answers(index, [{**ANTIQUE, "title": text}, {**ANTIQUE, "title": text + "e"}]) == [["s"], ["t"]]


@every_matcher
def test_a_large_batch_with_few_matches(matcher: str) -> None:
    index = tamis.compile({"s": "quantity = 77777", "t": "quantity < 3"}, AUCTIONS, matcher=matcher)
    rows = 100_000
    batch = pa.table({"event_type": [["antiques"]] * rows, "quantity": np.arange(rows)})
    found = index.match(batch).to_arrow()
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == [(0, "t"), (1, "t"), (2, "t"), (77777, "s")]


@every_matcher
def test_columns_that_no_subscription_names_are_ignored(matcher: str) -> None:
    index = tamis.compile({"s": "price > 1"}, AUCTIONS, matcher=matcher)
    table = pa.table({"event_type": [["antiques"]], "price": [2.0], "title": ["a"], "unheard_of": [1]})
    assert answers(index, table) == [["s"]]


@every_matcher
def test_columns_that_are_missing_are_absent_attributes(matcher: str) -> None:
    index = tamis.compile({"s": "price > 1", "t": "price IS NULL", "u": "quantity = 1"}, AUCTIONS, matcher=matcher)
    assert answers(index, pa.table({"event_type": [["antiques"]], "quantity": [1]})) == [["t", "u"]]
