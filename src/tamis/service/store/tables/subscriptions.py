"""Who may do what, and what is subscribed to."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, LargeBinary, Table, Text

from tamis.service.store.moments import Moment
from tamis.service.store.tables.base import METADATA, Number

KEYS = Table(
    "keys",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("roles", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("created", Moment, nullable=False),
    Column("revoked", Moment),
)

# `revision` and `head`, one row each. Whoever changes one holds its row until the end of the transaction.
COUNTERS = Table(
    "counters",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

# A subscription's number is the revision that it was created under. `filter` is null where it is `text` itself;
# `mode` is `delivery`'s mode, and `changed` is when it got its `revision`. `reason` is why it is suspended. `began` is
# when it was made or last renewed, and `notice` when the subscriber is to be told that it expires: null once they were,
# or if it never does.
SUBSCRIPTIONS = Table(
    "subscriptions",
    METADATA,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("ticket", LargeBinary, nullable=False),
    Column("owner", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("dialect", Text, nullable=False),
    Column("filter", Text),
    Column("residual", Text),
    Column("delivery", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("expires", Moment, nullable=False),
    Column("changed", Moment, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("reason", Text),
    Column("began", Moment),
    Column("notice", Moment),
    Index("subscriptions_by_notice", "notice"),
    Index("subscriptions_by_revision", "revision", unique=True),
    Index("subscriptions_by_owner", "owner", "number"),
    Index("subscriptions_by_expiry", "state", "expires"),
    Index("subscriptions_by_mode", "mode", "number"),
)

# How many subscriptions an owner has in a state, changed with them: counting a million rows would take too long.
COUNTS = Table(
    "subscription_counts",
    METADATA,
    Column("owner", Text, primary_key=True),
    Column("state", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
)
