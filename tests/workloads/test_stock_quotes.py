"""Stock quotes, read from a folder."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tamis.workloads.stock_quotes import expected_matches, filter_of_rule, stock_quotes

QUOTE = {
    "class": "STOCK", "symbol": "YHOO", "open": 12, "high": 12.5, "low": 11.0, "close": 12.25, "volume": 100,
    "date": "21-Dec-04",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rules = [
        {"id": "0", "rule": {"class": ["STOCK"], "symbol": ["YHOO"], "high": [{"numeric": [">", 11.25]}]}},
        {"id": "1", "rule": {"class": ["STOCK"], "volume": [{"numeric": [">", 1, "<=", 9]}]}},
    ]
    _write(tmp_path / "subscriptions.jsonl.gz", rules)
    _write(tmp_path / "events.jsonl.gz", [QUOTE, {**QUOTE, "symbol": "O'HARA"}, QUOTE])
    with gzip.open(tmp_path / "expected_matches_per_event.txt.gz", "wt") as stream:
        stream.write("1\n0\n1\n")
    return tmp_path


def test_rules_become_filters_and_quotes_become_rows(folder: Path) -> None:
    workload = stock_quotes(folder)
    assert workload.subscriptions.to_pylist() == [
        {"id": "0", "filter": '"class" = \'STOCK\' AND "symbol" = \'YHOO\' AND "high" > 11.25'},
        {"id": "1", "filter": '"class" = \'STOCK\' AND "volume" > 1 AND "volume" <= 9'},
    ]
    assert workload.events.num_rows == 3
    assert workload.events.to_pylist()[0] == {**QUOTE, "open": 12.0}


def test_the_first_events_only(folder: Path) -> None:
    assert stock_quotes(folder, events=2).events.num_rows == 2


def test_expected_matches_are_read_in_order(folder: Path) -> None:
    assert expected_matches(folder, "event").tolist() == [1, 0, 1]


def test_alternatives_become_a_disjunction() -> None:
    assert filter_of_rule({"symbol": ["A", "O'HARA"]}) == "(\"symbol\" = 'A' OR \"symbol\" = 'O''HARA')"


def test_a_rule_without_counterpart_is_refused() -> None:
    with pytest.raises(ValueError, match="wildcard"):
        filter_of_rule({"symbol": [{"wildcard": "A*"}]})


def _write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
