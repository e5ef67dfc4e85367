"""What joins stand on: the rows of tables, and the content of each subscription that joins them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Table, Text

from tamis.service.store.tables.base import METADATA, Number

# The rows that there are. `key` is JSON: what tells rows of a table apart; `position` is where the row changed last,
# and `body` the event that it changed by.
TABLE_ROWS = Table(
    "table_rows",
    METADATA,
    Column("table", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("table_rows_by_position", "table", "position"),
)

# How many rows a table ever took, and the greatest time among them, where its retention goes by time.
TABLE_ARRIVALS = Table(
    "table_arrivals",
    METADATA,
    Column("table", Text, primary_key=True),
    Column("arrived", BigInteger, nullable=False),
    Column("latest", BigInteger),
)

# The joins whose content is kept, each with the text that it is the content of, and the columns that its rows have, as
# JSON; `trouble` is why it is not kept any more, of one that has outgrown the limits.
JOINED = Table(
    "joined",
    METADATA,
    Column("subscription", Number, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Column("columns", Text, nullable=False),
    Column("trouble", Text, nullable=False),
)

# Results, each under an id that is a function of the rows it is made of; `row` is JSON, as it is shown.
CONTENTS = Table(
    "contents",
    METADATA,
    Column("subscription", BigInteger, primary_key=True),
    Column("result", Text, primary_key=True),
    Column("row", Text, nullable=False),
    sqlite_with_rowid=False,
)
