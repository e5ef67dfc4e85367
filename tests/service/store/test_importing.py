"""Subscriptions by the thousand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tamis.schema import Schema
from tamis.service.base.offering import Offering
from tamis.service.store import Store, importing
from tests.service.city import ALL, CITY
from tests.service.store.made import LATER

SCHEMA = Schema.from_dict({"attributes": {"price": "float"}, "event_types": {"lot": {"price": "optional"}}})
PULL = {"mode": "pull"}


def table(*rows: tuple[str, str]) -> pa.Table:
    return pa.table({"id": [row[0] for row in rows], "filter": [row[1] for row in rows]})


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "_ROWS_AT_ONCE", 10)


def test_rows_become_subscriptions_in_their_order(any_store: Store) -> None:
    rows = table(*[(f"rule {k}", f"price < {k}") for k in range(25)])
    seen: list[int] = []
    imported = any_store.subscriptions.import_table(rows, "k1", LATER, PULL, schema=SCHEMA, progress=seen.append)
    assert (imported.taken, imported.refused, seen) == (25, [], [10, 20, 25])
    listed = any_store.subscriptions.list("k1")
    assert [(one.label, one.text, one.filter) for one in listed] == [
        (f"rule {k}", f"price < {k}", f"price < {k}") for k in range(25)
    ]
    assert {(one.kind, one.dialect, one.state, one.expires) for one in listed} == {("filter", "tamis", "active", LATER)}
    assert any_store.subscriptions.count("k1", "active") == 25


def test_imported_ones_reach_followers_and_can_be_cancelled(any_store: Store) -> None:
    any_store.subscriptions.import_table(table(("a", "price < 1"), ("b", "price < 2")), "", LATER, PULL)
    changes = any_store.subscriptions.changes(0)
    assert [change.filter for change in changes] == ["price < 1", "price < 2"]
    first = any_store.subscriptions.list(None)[0]
    any_store.subscriptions.cancel(first.id)
    assert [change.filter for change in any_store.subscriptions.changes(2)] == [None]


def test_a_filter_that_the_schema_does_not_allow_is_refused_under_its_label(any_store: Store) -> None:
    rows = table(*[(f"r{k}", "prise < 1" if k % 9 == 4 else f"price < {k}") for k in range(30)])
    imported = any_store.subscriptions.import_table([rows, table(("x", "price <"))], "", LATER, PULL, schema=SCHEMA)
    assert [label for label, _ in imported.refused] == ["r4", "r13", "r22", "x"]
    assert "prise" in str(imported.refused[0][1])
    assert imported.taken == any_store.subscriptions.count("") == 27
    assert "r13" not in {one.label for one in any_store.subscriptions.list("")}


def test_tickets_are_handed_out_before_their_rows_are_committed_and_fit(any_store: Store) -> None:
    tickets: dict[str, tuple[str, str]] = {}
    committed: list[int] = []

    def keep(labels: list[str], ids: list[str], secrets: list[str]) -> None:
        committed.append(any_store.subscriptions.count(None))
        tickets.update(zip(labels, zip(ids, secrets, strict=True), strict=True))

    rows = table(*[(f"r{k}", "TRUE") for k in range(25)])
    any_store.subscriptions.import_table(rows, "", LATER, PULL, tickets=keep)
    assert committed == [0, 10, 20]
    for one in any_store.subscriptions.list(None):
        id, ticket = tickets[one.label]
        assert id == one.id
        assert any_store.subscriptions.ticket_fits(id, ticket)


def test_a_label_that_no_database_holds_is_refused_with_its_row(any_store: Store) -> None:
    imported = any_store.subscriptions.import_table(table(("a\0", "TRUE"), ("b", "TRUE")), "", LATER, PULL)
    assert [label for label, _ in imported.refused] == ["a\0"]
    assert imported.taken == 1


def test_those_that_call_operators_are_known_as_such(any_store: Store) -> None:
    schema = Schema.from_dict(CITY)
    called = Offering(ALL).signatures(schema)
    rows = table(("a", "price < 1"), ("b", "mob_pattern(?n) AND ?n > 3"), ("c", "nothing(3)"))
    imported = any_store.subscriptions.import_table(rows, "k1", LATER, PULL, schema=schema, operators=called)
    assert [label for label, _ in imported.refused] == ["c"]
    assert [one.kind for one in any_store.subscriptions.list("k1")] == ["filter", "operator"]
    assert list(any_store.subscriptions.calling()) == ["mob_pattern(?n) AND ?n > 3"]


def test_joins_are_imported_as_such(store: Store) -> None:
    stocks = {"key": ["price"], "join": ["price"]}
    form = {**SCHEMA.to_dict(), "tables": {"lot": stocks, "bid": stocks}}
    form["event_types"] = {"lot": {"price": "mandatory"}, "bid": {"price": "mandatory"}}
    joined = "SELECT * FROM lot JOIN bid USING (price)"
    rows = table(("a", "price < 1"), ("b", joined), ("c", joined + " WHERE prise > 1"), ("d", "prise > 1"))
    imported = store.subscriptions.import_table(rows, "", LATER, PULL, schema=Schema.from_dict(form))
    assert [label for label, _ in imported.refused] == ["c", "d"]
    assert [(one.label, one.kind) for one in store.subscriptions.list("")] == [("a", "filter"), ("b", "join")]
    assert [(row.number, row.filter) for row in store.subscriptions.join_changes(0)] == [(2, joined)]
    assert [row.filter for row in store.subscriptions.changes(0)] == ["price < 1", None]
