"""Migration: first tables of the store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# SQLite makes a row's own number of a key that is declared INTEGER, and of no other.
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _access()
    _subscriptions()
    _notifications()
    _publishing()
    _work()


def _text(name: str, *, primary_key: bool = False, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=primary_key, nullable=nullable)


def _int64(name: str, *, primary_key: bool = False, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, primary_key=primary_key, nullable=nullable)


def _access() -> None:
    op.create_table(
        "keys",
        _text("id", primary_key=True),
        _text("name"),
        _text("roles"),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        _int64("created"),
        _int64("revoked", nullable=True),
    )


def _subscriptions() -> None:
    counters = op.create_table("counters", _text("name", primary_key=True), _int64("value"))
    op.bulk_insert(counters, [{"name": name, "value": 0} for name in ("revision", "head", "schema")])
    op.create_table(
        "subscriptions",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("ticket", sa.LargeBinary, nullable=False),
        _text("owner"),
        _text("label"),
        _text("kind"),
        _text("text"),
        _text("dialect"),
        _text("filter", nullable=True),
        _text("residual", nullable=True),
        _text("delivery"),
        _text("mode"),
        _text("state"),
        _int64("created"),
        _int64("expires"),
        _int64("changed"),
        _int64("revision"),
    )
    op.create_index("subscriptions_by_revision", "subscriptions", ["revision"], unique=True)
    op.create_index("subscriptions_by_owner", "subscriptions", ["owner", "number"])
    op.create_index("subscriptions_by_expiry", "subscriptions", ["state", "expires"])
    op.create_index("subscriptions_by_mode", "subscriptions", ["mode", "number"])
    op.create_table(
        "subscription_counts", _text("owner", primary_key=True), _text("state", primary_key=True), _int64("count")
    )


def _notifications() -> None:
    op.create_table(
        "events",
        sa.Column("position", _NUMBER, primary_key=True, autoincrement=False),
        _text("id"),
        _int64("time"),
        _text("body"),
    )
    op.create_table(
        "notifications",
        _int64("position", primary_key=True),
        _int64("subscription", primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_index("notifications_by_subscription", "notifications", ["subscription", "position"])
    op.create_table("batches", _text("stream", primary_key=True), _int64("batch", primary_key=True))
    op.create_table(
        "deliveries",
        sa.Column("subscription", _NUMBER, primary_key=True, autoincrement=False),
        _int64("cursor"),
        sa.Column("failures", sa.Integer, nullable=False),
        _int64("next_attempt", nullable=True),
        _text("last_error"),
        sa.Column("disabled", sa.Boolean, nullable=False),
    )


def _publishing() -> None:
    op.create_table(
        "schemas",
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        _text("form"),
        _int64("added"),
    )
    op.create_table(
        "advertisements",
        _text("id", primary_key=True),
        _text("owner"),
        _text("event_type"),
        _text("filter"),
        _int64("created"),
        _int64("expires"),
    )
    op.create_table(
        "receipts",
        _text("key", primary_key=True),
        _text("owner", primary_key=True),
        _int64("begun"),
        _int64("first", nullable=True),
        _int64("count", nullable=True),
    )
    op.create_index("receipts_by_begun", "receipts", ["begun"])
    op.create_table(
        "dead_letters",
        sa.Column("id", _NUMBER, primary_key=True),
        _text("kind"),
        _text("subject"),
        _text("owner"),
        _text("reason"),
        _text("body"),
        _text("detail"),
        _int64("time"),
        sqlite_autoincrement=True,
    )
    op.create_index("dead_letters_by_owner", "dead_letters", ["owner", "id"])


def _work() -> None:
    op.create_table(
        "backtests",
        _text("id", primary_key=True),
        _text("owner"),
        _text("request"),
        _text("state"),
        sa.Column("attempts", sa.Integer, nullable=False),
        _int64("done"),
        _int64("total"),
        _text("result", nullable=True),
        _text("error"),
        _int64("created"),
        _int64("changed"),
    )
    op.create_index("backtests_by_state", "backtests", ["state", "created"])
