"""What matched, and how far it has been delivered."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, Text, text

from tamis.service.store.moments import Moment
from tamis.service.store.tables.base import METADATA, Number

# The events that matched something; `position` says where they stand among all of them.
EVENTS = Table(
    "events",
    METADATA,
    Column("position", Number, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("time", Moment, nullable=False),
    Column("body", Text, nullable=False),
)

# Pairs, in the order of the events for whoever follows them all, and by subscription for whoever reads one. `bindings`
# is JSON: what the filter's variables were bound to, by name; null where it has none. `changes` is JSON too: what the
# event did to the content of a join; null for those that are none. `notice`, JSON, makes of it no match but a message
# about the subscription; null for matches.
NOTIFICATIONS = Table(
    "notifications",
    METADATA,
    Column("position", BigInteger, primary_key=True),
    Column("subscription", BigInteger, primary_key=True),
    Column("bindings", Text),
    Column("changes", Text),
    Column("notice", Text),
    Index("notifications_by_subscription", "subscription", "position"),
    Index(
        "notifications_by_notice",
        "subscription",
        "position",
        sqlite_where=text("notice IS NOT NULL"),
        postgresql_where=text("notice IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

# The newest batches of each stream, so that a repeated one is known.
BATCHES = Table(
    "batches",
    METADATA,
    Column("stream", Text, primary_key=True),
    Column("batch", BigInteger, primary_key=True),
)

# Where the logs that several services share have been matched up to, and which stream goes on from there.
PROGRESS = Table(
    "progress",
    METADATA,
    Column("log", Text, primary_key=True),
    Column("stream", Text, nullable=False),
    Column("offsets", Text, nullable=False),
)

DELIVERIES = Table(
    "deliveries",
    METADATA,
    Column("subscription", Number, primary_key=True, autoincrement=False),
    Column("cursor", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("next_attempt", Moment),
    Column("last_error", Text, nullable=False),
    Column("disabled", Boolean, nullable=False),
)
