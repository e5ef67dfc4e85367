"""Joins on the command line: compiled with their tables, applied, explained, checked."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.house import Tamis

SCHEMA = """
attributes: {Symbol: string, PER: float, Analyst: string, Rating: float}
event_types:
  Stocks: {Symbol: mandatory, PER: mandatory}
  Reviews: {Symbol: mandatory, Analyst: mandatory, Rating: mandatory}
tables:
  Stocks: {key: [Symbol], join: [Symbol]}
  Reviews: {key: [Symbol, Analyst], join: [Symbol]}
"""
JOIN = "SELECT * FROM Stocks JOIN Reviews USING (Symbol) WHERE PER BETWEEN 45 AND 70 AND Rating >= 6"
SUBSCRIPTIONS = {"praised": JOIN, "cheap": "PER < 10"}
STOCK = {"event_type": "Stocks", "Symbol": "GOOG", "PER": 51.5}
EVENTS = [
    STOCK,
    {"event_type": "Reviews", "Symbol": "GOOG", "Analyst": "Ann", "Rating": 7.5},
    {"event_type": "Stocks", "Symbol": "YHOO", "operation": "delete"},
    {"event_type": "Stocks", "Symbol": "GOOG", "PER": 5.0},
]


def lay_out(house: Path) -> None:
    (house / "stocks.yaml").write_text(SCHEMA)
    lines = [json.dumps({"id": id, "filter": text}) for id, text in SUBSCRIPTIONS.items()]
    (house / "joins.jsonl").write_text("\n".join(lines))
    (house / "changes.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))


def test_joins_are_compiled_and_their_changes_written(tamis: Tamis, house: Path) -> None:
    lay_out(house)
    assert tamis("compile", "joins.jsonl", "-s", "stocks.yaml", "-o", "stocks.index").exit_code == 0
    found = tamis("match", "stocks.index", "changes.jsonl", "--numbers", "--changes", "told.jsonl")
    assert found.exit_code == 1  # a change was refused
    assert json.loads(found.stdout) == {"event": 3, "subscription": "cheap"}
    told = [json.loads(line) for line in (house / "told.jsonl").read_text().splitlines()]
    assert [(one["event"], one.get("subscription"), one["change"]) for one in told] == [(2, None, "refused")]
    assert told[0]["message"] == "Stocks has no row with the key 'YHOO' to delete"


def test_each_batch_tells_what_it_leaves_changed(tamis: Tamis, house: Path) -> None:
    lay_out(house)
    arguments = ("match", "joins.jsonl", "changes.jsonl", "-s", "stocks.yaml", "--changes", "told.jsonl")
    assert tamis(*arguments, "--batch-rows", "2").exit_code == 1
    told = [json.loads(line) for line in (house / "told.jsonl").read_text().splitlines()]
    assert [(one["event"], one["change"]) for one in told] == [(1, "added"), (3, "removed"), (2, "refused")]
    assert json.loads(told[0]["row"]) == {"Symbol": "GOOG", "PER": 51.5, "Analyst": "Ann", "Rating": 7.5}


def test_joins_without_a_file_for_their_changes_are_spoken_of(tamis: Tamis, house: Path) -> None:
    lay_out(house)
    found = tamis("match", "joins.jsonl", "changes.jsonl", "-s", "stocks.yaml", "--numbers")
    assert "1 joins are passed over: --changes FILE takes how their contents change" in found.stderr


def test_a_join_is_explained(tamis: Tamis, house: Path) -> None:
    lay_out(house)
    found = tamis("explain", "joins.jsonl", "praised", json.dumps(STOCK), "-s", "stocks.yaml")
    assert found.exit_code == 0
    assert "no match; nothing joins with the event" in found.stdout
    assert "joined with Reviews: 0 rows" in found.stdout
    dear = tamis("explain", "joins.jsonl", "praised", json.dumps(STOCK | {"PER": 80.0}), "-s", "stocks.yaml")
    assert "first to fail: PER BETWEEN 45 AND 70" in dear.stdout


def test_joins_are_checked_beside_filters(tamis: Tamis, house: Path) -> None:
    lay_out(house)
    assert tamis("validate", "stocks.yaml", "--subscriptions", "joins.jsonl").exit_code == 0
    with (house / "joins.jsonl").open("a") as file:
        file.write("\n" + json.dumps({"id": "bad", "filter": JOIN + " OR PER < 1"}))
    found = tamis("validate", "stocks.yaml", "--subscriptions", "joins.jsonl")
    assert found.exit_code == 1
    assert "2 right, 1 refused" in found.stderr


def test_joins_are_left_out_of_an_analysis(tamis: Tamis, house: Path) -> None:
    lay_out(house)
    found = tamis("analyze", "joins.jsonl", "-s", "stocks.yaml", "--json")
    assert "1 joins are left out" in found.stderr
