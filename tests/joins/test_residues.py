"""Residual filters: each is there once, for as long as somebody has it, and decides what its text says."""

from __future__ import annotations

from typing import Any

from tamis.joins.server import JoinServer
from tests.language.joins.test_parsing import FROM, SCHEMA


def review(symbol: str, analyst: str, rating: float = 7.0) -> dict[str, Any]:
    return {"event_type": "Reviews", "Symbol": symbol, "Analyst": analyst, "Rating": rating}


def stock(symbol: str) -> dict[str, Any]:
    return {"event_type": "Stocks", "Symbol": symbol, "Market": "N", "PER": 50.0}


def told(server: JoinServer, *events: dict[str, Any]) -> dict[str, int]:
    """How many results each subscription gained."""
    changes = server.notifications(server.apply(list(events)))
    return {id: len(change.added) for id, change in changes.items()}


def test_results_pass_the_residual_filters_of_their_own_subscription_only() -> None:
    texts = {f"j{letter}": f"{FROM} WHERE Analyst LIKE '%{letter}%'" for letter in "abc"}
    server = JoinServer(SCHEMA, {**texts, "all": FROM})
    assert told(server, stock("X"), review("X", "ab"), review("X", "bc")) == {"ja": 1, "jb": 2, "jc": 1, "all": 2}
    assert len(server.content("jb")) == 2
    assert [row["Analyst"] for row in server.content("ja")] == ["ab"]


def test_a_filter_that_several_have_stays_until_the_last_of_them_goes() -> None:
    text = f"{FROM} WHERE Analyst LIKE '%a%'"
    server = JoinServer(SCHEMA, {"one": text, "two": text})
    server.apply([stock("X")])
    server.remove(["one"])
    assert told(server, review("X", "ab"), review("X", "bc")) == {"two": 1}
    server.remove(["two"])
    # The number of the filter that went is another's now.
    server.add({"three": f"{FROM} WHERE Analyst LIKE '%c%'"})
    assert told(server, review("X", "ad"), review("X", "cd")) == {"three": 1}
    assert sorted(row["Analyst"] for row in server.content("three")) == ["bc", "cd"]


def test_who_takes_the_number_of_another_has_not_its_filter() -> None:
    server = JoinServer(SCHEMA, {"one": f"{FROM} WHERE Analyst LIKE '%a%'"})
    server.apply([stock("X")])
    server.remove(["one"])
    server.add({"two": FROM})
    assert told(server, review("X", "b")) == {"two": 1}


def test_filters_outlive_a_new_layout() -> None:
    server = JoinServer(SCHEMA, {"one": f"{FROM} WHERE Analyst LIKE '%a%'"})
    server.apply([stock("X"), review("X", "ab")])
    server.add({"two": f"{FROM} WHERE Rating > 6.5 AND (PER < 10 OR PER > 40)"})
    assert told(server, review("X", "ac"), review("X", "d", 6.0)) == {"one": 1, "two": 1}
    assert len(server.content("one")) == 2
    assert len(server.content("two")) == 2
