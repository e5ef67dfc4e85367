"""Table definitions (SQLAlchemy) of the store in this version; `migrations` brings a database to this state.

All in one `METADATA`. Numbers, positions and moments are 64 bits wide; documents are JSON text.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, Boolean, Column, Dialect, Index, Integer, LargeBinary, MetaData, Table, Text, text
from sqlalchemy.types import TypeDecorator

# Timestamps in both databases: whole microseconds since 1970, which sort, subtract and never change zone.

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    return datetime.now(UTC)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970; refuses a datetime without a zone, which is ambiguous."""
    return (moment - EPOCH) // _MICROSECOND


def moment(count: int) -> datetime:
    return EPOCH + timedelta(microseconds=count)


class Moment(TypeDecorator[datetime]):
    """Column type: a datetime with a zone outside, an int64 inside."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else moment(value)


# Shared metadata of all tables.

METADATA = MetaData()

# SQLite makes a row's own number of a key that is declared INTEGER, and of no other.
Number = BigInteger().with_variant(Integer(), "sqlite")


# Joins: the rows of tables, and the content of each join subscription.

# Rows of tables. `key` is JSON: the identity of the row in its table; `position` is where the row changed last, and
# `body` the event that changed it.
TABLE_ROWS = Table(
    "table_rows",
    METADATA,
    Column("table", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("table_rows_by_position", "table", "position"),
)

# Number of rows that a table ever had, and the greatest time among them, where its retention goes by time.
TABLE_ARRIVALS = Table(
    "table_arrivals",
    METADATA,
    Column("table", Text, primary_key=True),
    Column("arrived", BigInteger, nullable=False),
    Column("latest", BigInteger),
)

# Joins whose content is stored, each with its text and the columns of its rows, as JSON; `trouble` is why a content
# that has outgrown the limits is not stored any more.
JOINED = Table(
    "joined",
    METADATA,
    Column("subscription", Number, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Column("columns", Text, nullable=False),
    Column("trouble", Text, nullable=False),
)

# Results, each under an id that is a function of its rows; `row` is JSON, as it is shown.
CONTENTS = Table(
    "contents",
    METADATA,
    Column("subscription", BigInteger, primary_key=True),
    Column("result", Text, primary_key=True),
    Column("row", Text, nullable=False),
    sqlite_with_rowid=False,
)


# Matches, and the delivery state of their subscriptions.

# Events that matched; `position` is their order.
EVENTS = Table(
    "events",
    METADATA,
    Column("position", Number, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("time", Moment, nullable=False),
    Column("body", Text, nullable=False),
)

# Pairs that have more to say than that they matched, and those that 0.1 recorded. In the order of the events for those
# who follow them all, and by subscription for those who read one. `bindings` is JSON: what the filter's variables were
# bound to, by name; null where it has none. `changes` is JSON too: what the event did to the content of a join; null
# for those that are none. `notice`, JSON, makes of it no match but a message about the subscription; null for matches.
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

# Segments of the match log: the pairs that have nothing more to say, and the events they speak of. `data` is null where
# a segment is a file; `oldest` and `newest` are when its events were received.
SEGMENTS = Table(
    "segments",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("first", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
    Column("level", Integer, nullable=False),
    Column("pairs", BigInteger, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("oldest", BigInteger, nullable=False),
    Column("newest", BigInteger, nullable=False),
    Column("data", LargeBinary),
    Index("segments_by_first", "first"),
)

# The newest batches of each stream, so that a repeated one is known.
BATCHES = Table(
    "batches",
    METADATA,
    Column("stream", Text, primary_key=True),
    Column("batch", BigInteger, primary_key=True),
)

# Progress of the logs that several services share, and the stream that continues each.
PROGRESS = Table(
    "progress",
    METADATA,
    Column("log", Text, primary_key=True),
    Column("stream", Text, nullable=False),
    Column("offsets", Text, nullable=False),
)

# How far webhooks and topics have come. `epoch` is how often a cursor was placed anew, back or ahead: what an outlet of
# the epoch before has yet to save is not saved.
DELIVERIES = Table(
    "deliveries",
    METADATA,
    Column("subscription", Number, primary_key=True, autoincrement=False),
    Column("cursor", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("next_attempt", Moment),
    Column("last_error", Text, nullable=False),
    Column("disabled", Boolean, nullable=False),
    Column("epoch", BigInteger, nullable=False, server_default="0"),
)


# Publishers: schemas, advertisements, and dead letters.

SCHEMAS = Table(
    "schemas",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("form", Text, nullable=False),
    Column("added", Moment, nullable=False),
)

ADVERTISEMENTS = Table(
    "advertisements",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("filter", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("expires", Moment, nullable=False),
)

DEAD_LETTERS = Table(
    "dead_letters",
    METADATA,
    Column("id", Number, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("time", Moment, nullable=False),
    Index("dead_letters_by_owner", "owner", "id"),
    sqlite_autoincrement=True,
)


# Access: keys and subscriptions.

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

# Subscriptions. `number` is the revision of creation. `filter` is null where it is `text` itself; `mode` is
# `delivery`'s mode, and `changed` is when it got its `revision`. `reason` is why it is suspended. `began` is when it
# was made or last renewed, and `notice` when the subscriber is to be notified of the expiry: null afterwards, or if it
# never expires.
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

# Number of an owner's subscriptions in each state, changed with them: counting a million rows would take too long.
COUNTS = Table(
    "subscription_counts",
    METADATA,
    Column("owner", Text, primary_key=True),
    Column("state", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
)


# Queued work.

BACKTESTS = Table(
    "backtests",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("result", Text),
    Column("error", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("changed", Moment, nullable=False),
    Index("backtests_by_state", "state", "created"),
)


__all__ = [
    "ADVERTISEMENTS",
    "BACKTESTS",
    "BATCHES",
    "CONTENTS",
    "COUNTERS",
    "COUNTS",
    "DEAD_LETTERS",
    "DELIVERIES",
    "EVENTS",
    "JOINED",
    "KEYS",
    "METADATA",
    "NOTIFICATIONS",
    "PROGRESS",
    "SCHEMAS",
    "SEGMENTS",
    "SUBSCRIPTIONS",
    "TABLE_ARRIVALS",
    "TABLE_ROWS",
]
