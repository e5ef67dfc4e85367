"""Subscriptions ended in bulk: paused when their key is revoked, notified of their coming expiry, expired, and purged
later.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, select, update

from tamis.schema.timestamps import write_instant
from tamis.service.store import subscription as counters
from tamis.service.store.database import Database, insert_rows, pieces
from tamis.service.store.hashing import random_text
from tamis.service.store.subscription import LASTING
from tamis.service.store.tables import DELIVERIES, EVENTS, NOTIFICATIONS, SUBSCRIPTIONS, microseconds

EXPIRING = "subscription.expiring"
"""The `type` of the notification that tells a subscriber that the subscription expires soon."""

_AT_ONCE = 10_000
_COLUMNS = SUBSCRIPTIONS.c


def pause_all(connection: Connection, owner: str, now: datetime) -> int:
    """Pauses an owner's active subscriptions, each under a revision of its own; returns how many.

    The caller holds the revision counter. One statement, however many there are: some at a time would leave webhooks
    that are called for a revoked key if the process died in between.
    """
    active = (_COLUMNS.owner == owner, _COLUMNS.state == "active")
    count = int(connection.execute(select(func.count()).select_from(SUBSCRIPTIONS).where(*active)).scalar_one())
    if not count:
        return 0
    before = counters.advance(connection, "revision", count) - count
    rank = func.row_number().over(order_by=_COLUMNS.number).label("rank")
    ranked = select(_COLUMNS.number, rank).where(*active).subquery()
    paused = update(SUBSCRIPTIONS).where(_COLUMNS.number == ranked.c.number)
    connection.execute(paused.values(state="paused", changed=now, revision=before + ranked.c.rank))
    counters.moved(connection, {(owner, "active"): -count, (owner, "paused"): count})
    return count


def announce(database: Database, now: datetime) -> int:
    """Notifies subscribers whose subscription is about to expire, and marks it, in one transaction.

    Each is notified once for each time that the subscription was made or renewed, however many services call, and
    whenever one is killed.
    """
    due = select(_COLUMNS.number, _COLUMNS.expires).where(
        _COLUMNS.notice <= now, _COLUMNS.expires > now, _COLUMNS.state.in_(LASTING)
    )
    told = 0
    with database.read() as connection:
        if connection.execute(due.limit(1)).first() is None:
            return 0
    while True:
        with database.write() as connection:
            counters.locked(connection, "revision")
            rows = connection.execute(due.limit(_AT_ONCE)).all()
            if rows:
                # One position for all of them, among those that the newest batch has left over.
                position = counters.locked(connection, "head") + 1
                counters.put(connection, "head", position)
                event = (position, f"exp_{random_text(16)}", microseconds(now), "{}")
                insert_rows(connection, EVENTS, ("position", "id", "time", "body"), [event])
                pairs = ((position, row.number, _expiring(row.expires)) for row in rows)
                insert_rows(connection, NOTIFICATIONS, ("position", "subscription", "notice"), pairs)
                for some in pieces([row.number for row in rows]):
                    connection.execute(update(SUBSCRIPTIONS).where(_COLUMNS.number.in_(some)).values(notice=None))
        told += len(rows)
        if len(rows) < _AT_ONCE:
            return told


def _expiring(expires: datetime) -> str:
    return json.dumps({"type": EXPIRING, "expires": write_instant(expires)})


def expire(database: Database, now: datetime) -> int:
    """Expires subscriptions, some at a time, so that other writers get their turn; returns how many."""
    due = select(_COLUMNS.number, _COLUMNS.owner, _COLUMNS.state).where(
        _COLUMNS.state.in_(LASTING), _COLUMNS.expires <= now
    )
    ended = 0
    # Called before every batch, mostly for nothing: that must not wait for a writer.
    with database.read() as connection:
        if connection.execute(due.limit(1)).first() is None:
            return 0
    while True:
        with database.write() as connection:
            counters.locked(connection, "revision")
            rows = connection.execute(due.limit(_AT_ONCE)).all()
            if rows:
                first = counters.advance(connection, "revision", len(rows)) - len(rows) + 1
                marked = update(SUBSCRIPTIONS).where(_COLUMNS.number == bindparam("this"))
                marked = marked.values(state="expired", changed=now, revision=bindparam("next"))
                numbered = enumerate((row.number for row in rows), first)
                connection.execute(marked, [{"this": number, "next": revision} for revision, number in numbered])
                changes = Counter((row.owner, row.state) for row in rows)
                arrivals = Counter((row.owner, "expired") for row in rows)
                counters.moved(connection, {place: arrivals[place] - changes[place] for place in changes | arrivals})
        ended += len(rows)
        if len(rows) < _AT_ONCE:
            return ended


def purge(database: Database, before: datetime, followed: int) -> int:
    """Removes ended subscriptions whose end this service's follower has seen; other followers may not have.

    Those would keep it for ever, so `purged` tells them: the newest revision of all that are gone.
    """
    old = select(_COLUMNS.number, _COLUMNS.owner, _COLUMNS.state, _COLUMNS.revision).where(
        _COLUMNS.state.in_(["expired", "cancelled"]), _COLUMNS.changed < before, _COLUMNS.revision <= followed
    )
    removed = 0
    while True:
        with database.write() as connection:
            counters.locked(connection, "revision")
            rows = connection.execute(old.limit(_AT_ONCE)).all()
            for some in pieces([row.number for row in rows]):
                connection.execute(delete(SUBSCRIPTIONS).where(_COLUMNS.number.in_(some)))
                connection.execute(delete(DELIVERIES).where(DELIVERIES.c.subscription.in_(some)))
            gone = Counter((row.owner, row.state) for row in rows)
            counters.moved(connection, {place: -count for place, count in gone.items()})
            if rows:
                newest = max(row.revision for row in rows)
                counters.put(connection, "purged", max(counters.locked(connection, "purged"), newest))
        removed += len(rows)
        if len(rows) < _AT_ONCE:
            return removed
