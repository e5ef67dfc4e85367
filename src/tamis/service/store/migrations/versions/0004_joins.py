"""Migration: tables, the contents of joins over them, and the changes in a join's notifications."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("notifications", sa.Column("changes", sa.Text))
    op.create_table(
        "table_rows",
        sa.Column("table", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("table_rows_by_position", "table_rows", ["table", "position"])
    op.create_table(
        "table_arrivals",
        sa.Column("table", sa.Text, primary_key=True),
        sa.Column("arrived", sa.BigInteger, nullable=False),
        sa.Column("latest", sa.BigInteger),
    )
    op.create_table(
        "joined",
        sa.Column(
            "subscription",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("columns", sa.Text, nullable=False),
        sa.Column("trouble", sa.Text, nullable=False),
    )
    op.create_table(
        "contents",
        sa.Column("subscription", sa.BigInteger, primary_key=True),
        sa.Column("result", sa.Text, primary_key=True),
        sa.Column("row", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
