"""What the tests of the store put into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from sqlalchemy import create_engine, text

from tamis.service.store import NewSubscription, Store, Subscription

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = datetime(2100, 1, 1, tzinfo=UTC)
CHEAP = NewSubscription(owner="", text="price<10", filter="price < 10", expires=LATER)


def subscribed(store: Store, **fields: Any) -> Subscription:
    return store.subscriptions.create(replace(CHEAP, **fields))[0]


def events(positions: Sequence[int], start: datetime = NOON) -> pa.Table:
    """One event a position, a second apart."""
    times = [start + timedelta(seconds=k) for k in range(len(positions))]
    return pa.table(
        {
            "position": pa.array(positions, pa.int64()),
            "id": pa.array([f"evt_{position}" for position in positions], pa.string()),
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "body": pa.array([f'{{"n":{position}}}' for position in positions], pa.string()),
        }
    )


def pairs(*these: tuple[int, int]) -> pa.Table:
    positions, subscriptions = [pair[0] for pair in these], [pair[1] for pair in these]
    return pa.table({"position": pa.array(positions, pa.int64()), "subscription": pa.array(subscriptions, pa.int64())})


def recorded(store: Store, batch: int, *these: tuple[int, int], start: datetime = NOON) -> bool:
    """A batch in which exactly these pairs matched."""
    positions = sorted({position for position, _ in these})
    return store.notifications.record("stream", batch, events(positions, start), pairs(*these))


def break_connections_with_locks(url: str) -> None:
    """Has PostgreSQL end every connection to this database that holds an advisory lock."""
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' "
                "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        )
    engine.dispose()
