"""Explanations of a stranger's filter on a stranger's event: how long an answer can be."""

from __future__ import annotations

from typing import Any

from tests.service.http.server import Server

LONG = "a" * 50_000


def _explained(server: Server, filter: str, **event: Any) -> Any:
    form = {"filter": filter, "event": {"event_type": "antiques", "price": 1.0, **event}}
    return server.client.post("/v1/filters/explain", json=form)


def test_a_long_value_is_quoted_once_however_many_conditions_it_met(server_once: Server) -> None:
    filter = " AND ".join(f"(title LIKE '%x{i}%' OR title LIKE '%y{i}%')" for i in range(6))
    answer = _explained(server_once, filter, title=LONG)
    assert answer.status_code == 200
    assert len(answer.content) < 100_000
    told = answer.json()
    verdicts = [verdict for each in told["alternatives"] for verdict in each]
    quoted = [verdict["values"]["title"][0] for verdict in verdicts]
    assert (len(told["alternatives"]), len(verdicts), told["omitted"]) == (64, 384, 0)
    assert quoted[0] == "a" * 200 + "… (50,000 characters)"
    assert set(quoted[1:]) == {"a" * 20 + "… (50,000 characters)"}


def test_short_values_are_with_every_condition(server_once: Server) -> None:
    told = _explained(server_once, "price > 2 OR title = 'x' OR title LIKE 'y%'", title="oak").json()
    seen = [verdict["values"] for each in told["alternatives"] for verdict in each]
    assert seen == [{"price": [1.0]}, {"title": ["oak"]}, {"title": ["oak"]}]


def test_of_alternatives_beyond_all_measure_those_nearest_to_a_match_are_told(server_once: Server) -> None:
    clauses = [f"(title LIKE '%{i}{'x' * 900}' OR title LIKE '%{i}{'y' * 900}')" for i in range(8)]
    near = f"title LIKE '%a' AND title LIKE '{'b' * 900}%'"
    filter = f"({' AND '.join(clauses)}) OR {near}"
    answer = _explained(server_once, filter, title=LONG)
    assert len(answer.content) < 1_200_000
    told = answer.json()
    conditions = [[verdict["condition"] for verdict in each] for each in told["alternatives"]]
    assert told["omitted"] == 257 - len(conditions) > 0
    assert [c for each in conditions for c in each if c == "title LIKE '%a'"] == ["title LIKE '%a'"]
    assert told["first_failure"]["values"]["title"][0].startswith("a" * 200)
