"""How often the cursor of a delivery was placed anew, so that what was under way before does not move it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("deliveries", sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"))
