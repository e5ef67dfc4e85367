"""Joins beside filters in one index."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import tamis
from tests.language.joins.test_parsing import FROM, SCHEMA

JOIN = FROM + " WHERE Stocks.PER BETWEEN 45 AND 70 AND Rating >= 6 AND Analyst LIKE 'A%'"
STOCK = {"event_type": "Stocks", "Symbol": "GOOG", "Market": "NY", "PER": 51.5}
REVIEW = {"event_type": "Reviews", "Symbol": "GOOG", "Analyst": "Ann", "Rating": 7.5}


def test_joins_and_filters_are_compiled_together() -> None:
    index = tamis.compile({"j": JOIN, "s": "PER > 50", "bad": FROM + " WHERE day > 5", "worse": "PER >"}, SCHEMA)
    assert [id for id, _ in index.errors] == ["worse", "bad"]
    assert sorted(index.ids().to_pylist()) == ["j", "s"]
    assert len(index) == 2
    assert "j" in index
    assert index.text("j") == JOIN
    assert index.match([STOCK]).to_arrow().to_pylist() == [{"event": 0, "subscription": "s"}]


def test_an_arrow_table_may_hold_both() -> None:
    table = pa.table({"id": ["j", "s"], "filter": [JOIN, "PER > 50"]})
    index = tamis.compile(table, SCHEMA)
    assert index.errors == []
    assert index.joins.ids() == ["j"]
    assert len(index.match([STOCK])) == 1


def test_events_change_the_content_of_joins() -> None:
    index = tamis.compile({"j": JOIN}, SCHEMA)
    assert index.apply([STOCK]).by_subscription == {}
    found = index.apply([REVIEW, REVIEW | {"Analyst": "Bob"}])
    result = {"Symbol": "GOOG", "Market": "NY", "PER": 51.5, "Analyst": "Ann", "Rating": 7.5}
    assert found.by_subscription["j"].added == [result]
    assert index.joins.content("j") == [result]
    dearer = index.apply([STOCK | {"PER": 60.0}]).by_subscription["j"]
    assert (dearer.removed, dearer.added) == ([result], [result | {"PER": 60.0}])
    gone = index.apply([STOCK | {"PER": 5.0}, {"event_type": "Stocks", "Symbol": "X", "operation": "delete"}])
    assert gone.by_subscription["j"].removed == [result | {"PER": 60.0}]
    assert [(violation.event, violation.rule) for violation in gone.refused] == [(1, "table")]
    assert "Stocks has no row with the key 'X' to delete" in str(gone.refused[0])


def test_a_batch_tells_only_what_it_leaves_changed() -> None:
    index = tamis.compile({"j": JOIN}, SCHEMA)
    delete = {"event_type": "Stocks", "Symbol": "GOOG", "operation": "delete"}
    assert index.apply([STOCK, REVIEW, delete]).by_subscription == {}


def test_joins_come_and_go_while_events_flow() -> None:
    index = tamis.compile({"s": "PER > 50"}, SCHEMA)
    index.apply([STOCK, REVIEW])
    assert index.add({"j": JOIN, "bad": "SELECT * FROM Stocks"})[0][0] == "bad"
    assert len(index.joins.content("j")) == 1
    with pytest.raises(tamis.SubscriptionError, match="there is a subscription 'j' already"):
        index.add({"j": "PER > 1"})
    # This one restricts what no other did, so that rows and subscriptions are laid out anew.
    index.add({"k": FROM + " WHERE Stocks.Market = 'NY' AND Reviews.day IS NULL"})
    assert len(index.joins.content("k")) == 1
    index.remove(["j", "s"])
    assert index.ids().to_pylist() == ["k"]
    found = index.apply([{"event_type": "Stocks", "Symbol": "GOOG", "operation": "delete"}])
    assert list(found.by_subscription) == ["k"]


def test_what_joins_cannot_do_is_said(tmp_path: Path) -> None:
    index = tamis.compile({"j": JOIN}, SCHEMA)
    with pytest.raises(tamis.SubscriptionError, match="joins tables, so that no single event decides"):
        index.explain(STOCK, "j")
    index.save(tmp_path / "index")
    assert tamis.Index.open(tmp_path / "index").text("j") == JOIN
