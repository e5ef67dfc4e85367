"""Joins beside filters in one index."""

from __future__ import annotations

import pyarrow as pa
import pytest

import tamis
from tamis.joins.join_part import JoinExplanation
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


def test_an_event_is_explained_by_its_conditions_and_its_partners() -> None:
    index = tamis.compile({"j": JOIN}, SCHEMA)
    index.apply([REVIEW, REVIEW | {"Analyst": "Bob"}])
    found = index.explain(STOCK, "j")
    assert isinstance(found, JoinExplanation)
    assert found.matched
    assert found.partners == {"Reviews": (2, 1)}
    assert found.results == 1
    assert "joined with Reviews: 2 rows, of which 1 pass their conditions" in str(found)
    dear = index.explain(STOCK | {"PER": 80.0}, "j")
    assert not dear.matched
    assert dear.first_failure is not None
    assert dear.first_failure.condition == "PER BETWEEN 45 AND 70"
    lonely = index.explain(STOCK | {"Symbol": "X"}, "j")
    assert (lonely.matched, lonely.first_failure) == (False, None)
    assert "0 rows" in str(lonely)


def test_results_come_as_arrow() -> None:
    index = tamis.compile({"j": JOIN, "k": "SELECT Symbol FROM Stocks JOIN Reviews USING (Symbol)"}, SCHEMA)
    tables = index.apply([STOCK, REVIEW]).to_arrow()
    found = {table["subscription"][0].as_py(): table for table in tables}
    assert found["k"]["row"].to_pylist() == [{"Symbol": "GOOG"}]
    assert found["j"]["change"].to_pylist() == ["added"]
    assert found["j"]["event"].to_pylist() == [1]
    assert found["j"]["row"].to_pylist()[0]["Analyst"] == "Ann"


def test_an_update_that_leaves_a_row_as_it_was_is_no_change() -> None:
    index = tamis.compile({"j": JOIN}, SCHEMA)
    index.apply([STOCK, REVIEW])
    assert index.apply([STOCK]).by_subscription == {}
    assert index.apply([STOCK | {"PER": 60.0}, STOCK]).by_subscription == {}
    delete = {"event_type": "Reviews", "Symbol": "GOOG", "Analyst": "Ann", "operation": "delete"}
    assert index.apply([delete, REVIEW]).by_subscription == {}
    assert len(index.apply([STOCK, delete]).by_subscription["j"].removed) == 1
