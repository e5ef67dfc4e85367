"""Migration: matching progress of shared logs, and the newest revision of purged subscriptions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    counters = sa.table("counters", sa.column("name", sa.Text), sa.column("value", sa.BigInteger))
    op.bulk_insert(counters, [{"name": "purged", "value": 0}])
    op.create_table(
        "progress",
        sa.Column("log", sa.Text, primary_key=True, nullable=False),
        sa.Column("stream", sa.Text, nullable=False),
        sa.Column("offsets", sa.Text, nullable=False),
    )
