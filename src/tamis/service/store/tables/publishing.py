"""What publishers leave behind: schemas, advertisements, and what could not be taken or delivered."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, Table, Text

from tamis.service.store.moments import Moment
from tamis.service.store.tables.base import METADATA, Number

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
