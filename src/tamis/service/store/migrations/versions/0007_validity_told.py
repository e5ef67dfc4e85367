"""Migration: start of a validity, time to announce its end, and notifications that announce it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_DAY = 86_400_000_000  # microseconds


def upgrade() -> None:
    op.add_column("subscriptions", sa.Column("began", sa.BigInteger))
    op.add_column("subscriptions", sa.Column("notice", sa.BigInteger))
    op.create_index("subscriptions_by_notice", "subscriptions", ["notice"])
    op.add_column("notifications", sa.Column("notice", sa.Text))
    told = sa.text("notice IS NOT NULL")
    op.create_index(
        "notifications_by_notice",
        "notifications",
        ["subscription", "position"],
        sqlite_where=told,
        postgresql_where=told,
    )
    # As `subscription.notice_at` has it; when these were renewed last is not known, so they began when they were made.
    tenth = "(expires - created) / 10"
    before = f"CASE WHEN {tenth} > {_DAY} THEN {_DAY} ELSE {tenth} END"
    op.execute(f"UPDATE subscriptions SET began = created, notice = expires - {before}")
