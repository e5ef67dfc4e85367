"""Work that waits to be done."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from tamis.service.store.moments import Moment
from tamis.service.store.tables.base import METADATA

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
