"""The tables of a server as events that make them again: to be kept elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tamis.joins.intake import _stacked
from tamis.joins.server import JoinServer
from tamis.schema import EVENT_TYPE


def kept_tables(server: JoinServer) -> tuple[pa.RecordBatch, dict[str, int]]:
    """All rows, the one of each table that changed last at the end, and the greatest time seen by each window."""
    intake, schema = server._intake, server.schema
    parts = []
    latest = {}
    for name, state in intake._tables.items():
        if state.latest is not None:
            latest[name] = state.latest
        kept = [intake._rows[name][number] for number in intake.numbers(name)]
        rows = _stacked([batch.slice(place, 1) for _, batch, place in kept], name, schema)
        types = pa.array([[name]] * rows.num_rows, schema.arrow_schema.field(EVENT_TYPE).type)
        parts.append(pa.Table.from_batches([rows]).append_column(EVENT_TYPE, types))
    together = pa.concat_tables(parts, promote_options="default") if parts else pa.table({})
    return schema.to_arrow(together), latest


def restore_tables(server: JoinServer, rows: pa.RecordBatch, latest: Mapping[str, int]) -> None:
    """Puts kept rows into tables that are empty. Nobody is told."""
    server.apply(rows)
    for name, time in latest.items():
        server._intake._tables[name].latest = time


def row_count(server: JoinServer) -> int:
    return sum(len(server._intake.numbers(name)) for name in server.schema.tables)
