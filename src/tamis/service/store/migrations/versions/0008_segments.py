"""Migration: the match log's segments of pairs, beside the rows of those recorded before, which stay until they are
old.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "segments",
        sa.Column("name", sa.Text, primary_key=True),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("first", "last")),
        sa.Column("level", sa.Integer, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("pairs", "events", "bytes", "oldest", "newest")),
        sa.Column("data", sa.LargeBinary),
    )
    op.create_index("segments_by_first", "segments", ["first"])
    counters = sa.table("counters", sa.column("name", sa.Text), sa.column("value", sa.BigInteger))
    op.bulk_insert(counters, [{"name": name, "value": 0} for name in ("segments", "floor")])
