"""The oracle of joins against a database, and what it says of tables, operations and retention."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from tamis.joins.naive import NaiveJoins
from tamis.schema import Schema
from tamis.testing import GeneratedJoins, join_workloads
from tamis.testing.join_histories import duckdb_content
from tests.generated import cases


@given(join_workloads(max_subscriptions=2, max_events=15))
@settings(max_examples=cases(25), deadline=None)
def test_the_oracle_agrees_with_a_database_after_every_event(workload: GeneratedJoins) -> None:
    oracle = NaiveJoins(workload.schema, workload.texts)
    for event in workload.events:
        oracle.apply([event])
        for id, join in workload.subscriptions.items():
            order = oracle.joins[id].signature.tables
            assert oracle.content(id).keys() == duckdb_content(join, oracle.tables, order)


FORM: dict[str, Any] = {
    "attributes": {"x": "integer", "v": "float", "at": "timestamp"},
    "event_types": {
        "R": {"x": "mandatory", "v": "optional"},
        "S": {"x": "mandatory", "v": "mandatory", "at": "mandatory"},
        "L": {"x": "mandatory", "v": "optional"},
    },
    "tables": {
        "R": {"key": ["x"], "join": ["x"], "retention": {"count": 2}},
        "S": {"key": ["v"], "join": ["x"], "retention": {"window": "10 seconds", "by": "at"}},
        "L": {"join": ["x"]},
    },
}
SCHEMA = Schema.from_dict(FORM)


def tables() -> NaiveJoins:
    return NaiveJoins(SCHEMA, {"j": "SELECT * FROM R JOIN L USING (x) WHERE R.v > 1"})


def row(table: str, x: int, operation: str | None = None, **more: Any) -> dict[str, Any]:
    return {"event_type": table, "x": x, "operation": operation, **more}


def moment(second: int) -> str:
    return f"2024-05-01T10:00:{second:02}Z"


def test_what_breaks_a_key_is_refused_with_a_reason() -> None:
    _, refused = tables().apply(
        [
            row("R", 1, "insert", v=2.0),
            row("R", 1, "insert"),
            row("R", 2, "update"),
            row("R", 2, "delete"),
            row("R", 1, "delete"),
            row("R", 1, "delete"),
        ]
    )
    assert list(refused) == [1, 2, 3, 5]
    assert refused[1] == "R has a row with the key 1 already; update it, or leave the operation out"
    assert refused[2] == "R has no row with the key 2 to update"


def test_an_event_without_operation_puts_its_row() -> None:
    oracle = tables()
    changes, refused = oracle.apply([row("R", 1, v=2.0), row("R", 1, v=3.0), row("L", 1), row("L", 1)])
    assert not refused
    assert [(change.before, change.after) for change in changes[:2]] == [
        (None, {"x": [1], "v": [2.0]}),
        ({"x": [1], "v": [2.0]}, {"x": [1], "v": [3.0]}),
    ]
    assert len(oracle.content("j")) == 2  # of two equal rows without a key, each is a row of its own


def test_a_count_keeps_what_changed_last() -> None:
    oracle = tables()
    changes, _ = oracle.apply([row("R", 1), row("R", 2), row("R", 1, "update"), row("R", 3)])
    assert [(change.identity, change.after is None) for change in changes] == [
        ((1,), False),
        ((2,), False),
        ((1,), False),
        ((3,), False),
        ((2,), True),
    ]


def test_a_window_goes_by_the_latest_time_and_refuses_what_is_late() -> None:
    oracle = tables()
    changes, refused = oracle.apply(
        [
            row("S", 1, v=1.0, at=moment(0)),
            row("S", 1, v=2.0, at=moment(9)),
            row("S", 1, v=3.0, at=moment(10)),
            row("S", 1, v=4.0, at=moment(0)),
            row("S", 1, v=3.0, at=moment(5)),
        ]
    )
    assert [change.identity for change in changes if change.after is None] == [(1.0,)]
    assert list(refused) == [3]
    assert "too late for S" in refused[3]
    assert set(oracle.tables["S"].rows) == {(2.0,), (3.0,)}
