"""The meaning of each part of the language, example by example: the oracle too is held to these."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import tamis
from tests.contract.every import AUCTIONS, answers, every_matcher

MAY_DAY = datetime(2024, 5, 1, 10, tzinfo=UTC)

# (filter, event, whether it matches)
CASES: list[tuple[str, dict[str, Any], bool]] = [
    # comparisons on one value
    ("price = 10", {"price": 10.0}, True),
    ("price = 10", {"price": 10.5}, False),
    ("price = 10", {}, False),
    ("price < 10", {"price": 10.0}, False),
    ("price <= 10", {"price": 10.0}, True),
    ("price > 10", {"price": 10.000000000000002}, True),
    ("10 < price", {"price": 11.0}, True),
    ("price BETWEEN 1 AND 3", {"price": 3.0}, True),
    ("price BETWEEN 3 AND 1", {"price": 2.0}, False),
    ("price NOT BETWEEN 3 AND 1", {"price": 2.0}, True),
    ("price NOT BETWEEN 3 AND 1", {}, False),
    ("quantity IN (1, 2, 5)", {"quantity": 5}, True),
    ("quantity NOT IN (1, 2, 5)", {"quantity": 5}, False),
    ("quantity NOT IN (1, 2, 5)", {}, False),
    ("sold = TRUE", {"sold": True}, True),
    ("sold != TRUE", {"sold": False}, True),
    ("sold != TRUE", {}, False),
    # absence
    ("price IS NULL", {}, True),
    ("price IS NULL", {"price": 1.0}, False),
    ("price IS NOT NULL", {}, False),
    ("NOT (price IS NULL)", {"price": 1.0}, True),
    ("tags IS NULL", {"tags": []}, True),
    ("NOT (price > 10)", {}, False),
    ("NOT (price > 10)", {"price": 3.0}, True),
    ("price != 10", {}, False),
    ("price > 10 OR NOT (price > 10)", {}, False),
    ("price > 10 OR price <= 10 OR price IS NULL", {}, True),
    ("NOT (price > 10 AND quantity > 1)", {"price": 3.0}, True),
    ("NOT (price > 10 AND quantity > 1)", {"price": 30.0}, False),
    ("NOT (price > 10 OR quantity > 1)", {"price": 3.0}, False),
    ("NOT (NOT (price > 10))", {"price": 11.0}, True),
    # many values: some value satisfies; a negation asks that none does
    ("tags = 'red'", {"tags": ["blue", "red"]}, True),
    ("tags CONTAINS 'red'", {"tags": ["blue", "red"]}, True),
    ("tags CONTAINS 'red' AND tags CONTAINS 'blue'", {"tags": ["blue", "red"]}, True),
    ("tags = 'red' AND tags != 'red'", {"tags": ["blue", "red"]}, False),
    ("tags != 'red'", {"tags": ["blue", "red"]}, False),
    ("tags != 'red'", {"tags": ["blue"]}, True),
    ("sizes > 5 AND sizes < 3", {"sizes": [1, 9]}, True),
    ("sizes BETWEEN 3 AND 5", {"sizes": [1, 9]}, False),
    ("sizes >= 3 AND sizes <= 5", {"sizes": [1, 9]}, True),
    ("NOT (sizes > 5)", {"sizes": [1, 9]}, False),
    ("sizes NOT BETWEEN 3 AND 5", {"sizes": [1, 9]}, True),
    ("sizes NOT IN (1, 2)", {"sizes": [1, 9]}, False),
    ("sizes = 1 AND sizes = 9", {"sizes": [1, 9]}, True),
    ("sizes = 1", {"sizes": [1, 1, 1]}, True),
    # numbers compare by exact value
    ("quantity = 9007199254740993", {"quantity": 2**53 + 1}, True),
    ("quantity = 9007199254740993", {"quantity": 2**53}, False),
    ("price = 9007199254740993", {"price": 2.0**53}, False),
    ("price < 9007199254740993", {"price": 2.0**53}, True),
    ("price > 9007199254740993", {"price": 2.0**53}, False),
    ("price != 9007199254740993", {"price": 2.0**53}, True),
    ("price < quantity", {"price": 2.0**53, "quantity": 2**53 + 1}, True),
    ("price = quantity", {"price": 2.0**53, "quantity": 2**53 + 1}, False),
    ("price = quantity", {"price": 2.0**53, "quantity": 2**53}, True),
    ("price > quantity", {"price": float("inf"), "quantity": 2**63 - 1}, True),
    ("price > quantity", {"price": 2.0**63, "quantity": 2**63 - 1}, True),
    ("price = quantity", {"price": -(2.0**63), "quantity": -(2**63)}, True),
    ("quantity > 2.5", {"quantity": 3}, True),
    ("quantity > 2.5", {"quantity": 2}, False),
    ("quantity < 2.5", {"quantity": 2}, True),
    ("quantity = 2.5", {"quantity": 2}, False),
    ("quantity != 2.5", {"quantity": 2}, True),
    ("quantity != 2.5", {}, False),
    ("quantity < 9223372036854775808", {"quantity": 2**63 - 1}, True),
    ("quantity > 9223372036854775807", {"quantity": 2**63 - 1}, False),
    ("quantity >= -9223372036854775808", {"quantity": -(2**63)}, True),
    ("quantity < -9223372036854775808", {"quantity": -(2**63)}, False),
    ("quantity = 100000000000000000000000000000", {"quantity": 1}, False),
    ("price = 0", {"price": -0.0}, True),
    ("price < 0", {"price": -0.0}, False),
    ("price >= -0.0", {"price": 0.0}, True),
    ("price > 1e308", {"price": float("inf")}, True),
    ("price < -1e308", {"price": float("-inf")}, True),
    ("price = 0.1", {"price": 0.1}, True),
    ("price = 0.3", {"price": 0.1 + 0.2}, False),
    # strings by code point
    ("title = ''", {"title": ""}, True),
    ("title = ''", {}, False),
    ("title < 'a'", {"title": "Z"}, True),
    ("title > 'z'", {"title": "é"}, True),
    ("title > '\uffff'", {"title": "\U0001d4b3"}, True),
    ("title = 'é'", {"title": "e\u0301"}, False),
    ("title = 'it''s'", {"title": "it's"}, True),
    ("title BETWEEN 'a' AND 'b'", {"title": "abc"}, True),
    ("title >= 'ab' AND title < 'ac'", {"title": "abz"}, True),
    # patterns
    ("title LIKE 'Louis%'", {"title": "Louis XV"}, True),
    ("title LIKE 'louis%'", {"title": "Louis XV"}, False),
    ("title ILIKE 'louis%'", {"title": "LOUIS XV"}, True),
    ("title ILIKE '%É'", {"title": "café"}, True),
    ("title LIKE '%XV'", {"title": "Louis XVI"}, False),
    ("title LIKE '%XV%'", {"title": "Louis XVI"}, True),
    ("title LIKE 'L_uis'", {"title": "Léuis"}, True),
    ("title LIKE ''", {"title": ""}, True),
    ("title LIKE '%'", {"title": ""}, True),
    ("title LIKE '_'", {"title": ""}, False),
    ("title LIKE '%'", {}, False),
    ("title LIKE '100\\%'", {"title": "100%"}, True),
    ("title LIKE '100\\%'", {"title": "1000"}, False),
    ("title LIKE '100!%' ESCAPE '!'", {"title": "100%"}, True),
    ("title LIKE 'a%b'", {"title": "a\nb"}, True),
    ("title NOT LIKE 'a%'", {"title": "b"}, True),
    ("title NOT LIKE 'a%'", {}, False),
    ("tags LIKE 'r%'", {"tags": ["blue", "red"]}, True),
    ("tags NOT LIKE 'r%'", {"tags": ["blue", "red"]}, False),
    ("title RLIKE 'X+V'", {"title": "Louis XXV"}, True),
    ("title RLIKE '^X'", {"title": "Louis XV"}, False),
    ("title RLIKE '(?i)louis'", {"title": "LOUIS"}, True),
    ("NOT (title RLIKE 'X')", {"title": "Louis"}, True),
    # attribute against attribute
    ("price < old.price", {"price": 1.0, "old.price": 2.0}, True),
    ("price < old.price", {"price": 1.0}, False),
    ("NOT (price < old.price)", {"price": 1.0}, False),
    ("NOT (price < old.price)", {"price": 2.0, "old.price": 2.0}, True),
    ("price != old.price", {"price": 2.0, "old.price": 2.0}, False),
    ("sizes > bids", {"sizes": [1, 9], "bids": 5}, True),
    ("NOT (sizes > bids)", {"sizes": [1, 9], "bids": 5}, False),
    ("tags = title", {"tags": ["a", "b"], "title": "b"}, True),
    # listed domains
    ("period < 'XVIII'", {"period": "XVI"}, True),
    ("period < 'XVIII'", {"period": "XVIII"}, False),
    ("period >= 'XVII'", {"period": "XVIII"}, True),
    ("NOT (period < 'XVII')", {"period": "XVIII"}, True),
    ("NOT (period < 'XVII')", {}, False),
    ("period IN ('XVI', 'XVIII')", {"period": "XVIII"}, True),
    ("colour != 'red'", {"colour": "green"}, True),
    ("category <= 'dining_room'", {"category": ["chair"]}, True),
    ("category <= 'dining_room'", {"category": ["dining_room"]}, True),
    ("category < 'dining_room'", {"category": ["dining_room"]}, False),
    ("category >= 'chair'", {"category": ["dining_room"]}, True),
    ("category <= 'bedroom'", {"category": ["chair"]}, False),
    ("category <= 'bedroom' AND category <= 'dining_room'", {"category": ["chair", "bed"]}, True),
    ("NOT (category <= 'bedroom')", {"category": ["chair", "bed"]}, False),
    # time
    ("opened = TIMESTAMP '2024-05-01 10:00:00'", {"opened": MAY_DAY}, True),
    ("opened > '2024-05-01T09:59:59.999999'", {"opened": MAY_DAY}, True),
    ("opened < '2024-05-01T12:00:00+02:00'", {"opened": MAY_DAY}, False),
    # the built-in attribute
    ("event_type CONTAINS 'antiques'", {}, True),
    ("event_type = 'furniture'", {}, False),
    ("event_type != 'furniture'", {}, True),
    ("event_type = 'antiques' AND event_type = 'furniture'", {"event_type": ["antiques", "furniture"]}, True),
    # constants
    ("TRUE", {}, True),
    ("FALSE", {}, False),
    ("NOT FALSE", {}, True),
    ("price > 1 OR TRUE", {}, True),
]


@every_matcher
@pytest.mark.parametrize(("text", "event", "matches"), CASES)
def test_means_what_it_says(matcher: str, text: str, event: dict[str, Any], matches: bool) -> None:
    index = tamis.compile({"s": text}, AUCTIONS, matcher=matcher)
    assert index.errors == []
    assert answers(index, [{"event_type": ["antiques"], **event}]) == [["s"] if matches else []]


@every_matcher
def test_all_the_examples_together_mean_what_each_means_alone(matcher: str) -> None:
    subscriptions = {f"s{number}": text for number, (text, _, _) in enumerate(CASES)}
    index = tamis.compile(subscriptions, AUCTIONS, matcher=matcher)
    found = answers(index, [{"event_type": ["antiques"], **event} for _, event, _ in CASES])
    for number, (text, event, matches) in enumerate(CASES):
        assert (f"s{number}" in found[number]) == matches, (text, event)


@every_matcher
def test_nan_is_refused(matcher: str) -> None:
    index = tamis.compile({"s": "price > 1"}, AUCTIONS, matcher=matcher)
    with pytest.raises(tamis.TamisError, match="price"):
        index.match([{"event_type": ["antiques"], "price": float("nan")}])
