"""The demo's auctions."""

from __future__ import annotations

import itertools
import json
import re

import pyarrow as pa

from tamis.workloads.auction_lots import auction_schema, interests, json_lines, lots


def test_interests_use_the_whole_language() -> None:
    texts = " ; ".join(itertools.islice(interests(1), 5000))
    for part in (
        "=", "!=", "<", "<=", ">=", " BETWEEN ", " IN (", " OR ", "NOT (", " LIKE ", " ILIKE ", " RLIKE ", " CONTAINS ",
        "event_type CONTAINS 'antiques'", "IS NULL", "price < old.price", "TIMESTAMP '", "furniture_category <=",
    ):  # fmt: skip
        assert part in texts, part


def test_interests_vary() -> None:
    assert len(set(itertools.islice(interests(1), 5000))) > 4000


def test_lots_are_of_one_type_or_both() -> None:
    types = {tuple(lot["event_type"]) for lot in itertools.islice(lots(1), 200)}
    assert types == {("antiques",), ("furniture",), ("antiques", "furniture")}


def test_lots_are_valid() -> None:
    schema = auction_schema()
    assert [schema.violations(lot) for lot in itertools.islice(lots(1), 500)] == [[]] * 500


def test_json_lines_are_the_lots_where_nothing_is_malformed() -> None:
    lines = list(json_lines(100, 3))
    assert [json.loads(line) for line in lines] == list(itertools.islice(lots(3), 100))


def test_about_the_share_asked_for_is_malformed_and_every_malformed_line_has_a_reason() -> None:
    lines = list(json_lines(3000, 1, malformed=0.1))
    good = list(json_lines(3000, 1))
    spoilt = [row for row, (line, original) in enumerate(zip(lines, good, strict=True)) if line != original]
    checked = auction_schema().check_json(pa.array(lines))
    refused = set(checked.violations["event"].to_pylist())
    assert 0.07 < len(spoilt) / 3000 < 0.13
    assert refused == set(spoilt)
    assert len(checked.valid) == 3000 - len(spoilt)


def test_titles_read_like_titles() -> None:
    titles = [lot["title"] for lot in itertools.islice(lots(1), 300) if "title" in lot]
    assert all(re.fullmatch(r"[^\W\d_].{3,60}", title) for title in titles)
    assert any(title.startswith("Louis XV") for title in titles)
