"""The tables of a server as events that make them again: to be kept elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tamis.joins.server import JoinServer
from tamis.schema import EVENT_TYPE


def kept_tables(server: JoinServer) -> tuple[pa.RecordBatch, dict[str, int]]:
    """All rows, the one of each table that changed last at the end, and the greatest time seen by each window."""
    schema = server.schema
    records = server.tables()
    parts = []
    for name, record in records.items():
        types = pa.array([[name]] * record.rows.num_rows, schema.arrow_schema.field(EVENT_TYPE).type)
        parts.append(pa.Table.from_batches([record.rows]).append_column(EVENT_TYPE, types))
    together = pa.concat_tables(parts, promote_options="default") if parts else pa.table({})
    latest = {name: record.latest for name, record in records.items() if record.latest is not None}
    return schema.to_arrow(together), latest


def restore_tables(server: JoinServer, rows: pa.RecordBatch, latest: Mapping[str, int]) -> None:
    """Puts kept rows into tables that are empty. Nobody is told."""
    server.follow(rows)
    server.remember_times(latest)


def row_count(server: JoinServer) -> int:
    return sum(record.rows.num_rows for record in server.tables().values())
