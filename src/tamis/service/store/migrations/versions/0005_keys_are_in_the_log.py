"""Migration: drops the receipts of publishes, since logs keep idempotency keys themselves."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_table("receipts")
