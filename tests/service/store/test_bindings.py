"""What variables were bound to is kept beside each notification, also in a store that an older Tamis has made."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from alembic import command
from sqlalchemy import create_engine, text

from tamis.service.store import Pair, Store
from tamis.service.store.database import alembic_config

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def _events(*positions: int) -> pa.Table:
    ids = [f"evt_{position}" for position in positions]
    times = pa.array([NOON] * len(positions), pa.timestamp("us", "UTC"))
    return pa.table({"position": list(positions), "id": ids, "time": times, "body": ["{}"] * len(positions)})


def test_bindings_come_back_with_the_notifications_that_have_some(any_store: Store) -> None:
    pairs = pa.table({"position": [5, 5, 6], "subscription": [2, 1, 1], "bindings": ['{"n":3}', None, '{"n":"é"}']})
    notifications = any_store.notifications
    assert notifications.record("s", 1, _events(5, 6), pairs)
    assert notifications.since(0, 9, 10) == [Pair(5, 1), Pair(5, 2, '{"n":3}'), Pair(6, 1, '{"n":"é"}')]
    assert [one.bindings for one in notifications.after(1, 0)] == [None, '{"n":"é"}']
    assert [one.bindings for one in notifications.before(2, 9)] == ['{"n":3}']
    assert [one.bindings for one in notifications.of_owner_after("", 0)] == []


def test_a_batch_that_is_repeated_changes_no_bindings(any_store: Store) -> None:
    notifications = any_store.notifications
    for bound in ('{"n":1}', '{"n":2}'):
        pairs = pa.table({"position": [5], "subscription": [1], "bindings": [bound]})
        notifications.record("s", 1, _events(5), pairs)
    assert notifications.since(0, 9, 10) == [Pair(5, 1, '{"n":1}')]


def test_a_store_of_an_older_tamis_keeps_its_notifications_and_takes_bindings(any_store_url: str) -> None:
    if any_store_url.startswith("sqlite"):
        Path(any_store_url.removeprefix("sqlite:///")).parent.mkdir()
    engine = create_engine(any_store_url)
    config = alembic_config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        connection.execute(text("INSERT INTO events VALUES (5, 'evt_5', 0, '{}')"))
        connection.execute(text("INSERT INTO notifications (position, subscription) VALUES (5, 1)"))
    engine.dispose()
    store = Store.open(any_store_url)
    pairs = pa.table({"position": [6], "subscription": [1], "bindings": ['{"n":3}']})
    assert store.notifications.record("s", 1, _events(6), pairs)
    assert [(one.event_id, one.bindings) for one in store.notifications.after(1, 0)] == [
        ("evt_5", None),
        ("evt_6", '{"n":3}'),
    ]
    store.close()
