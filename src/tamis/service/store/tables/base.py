"""What all tables share."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, MetaData

METADATA = MetaData()

# SQLite makes a row's own number of a key that is declared INTEGER, and of no other.
Number = BigInteger().with_variant(Integer(), "sqlite")
