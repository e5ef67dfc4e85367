"""Change files: what was added and removed between two versions of a table of subscriptions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from tamis.durable import replace_durably
from tamis.engine import Index
from tamis.errors import IndexFileError

# A row without a filter removes its id; removals come before additions, so a replaced subscription has one row of each.
_COLUMNS = pa.schema([pa.field("id", pa.large_string(), nullable=False), pa.field("filter", pa.large_string())])


def write_change(path: Path, removed: Iterable[str], added: pa.Table) -> int:
    """Writes a change file and tells how many rows it has. `added` has the string columns id and filter."""
    gone = pa.array(removed, pa.large_string())
    rows = pa.concat_tables(
        [
            pa.Table.from_arrays([gone, pa.nulls(len(gone), pa.large_string())], schema=_COLUMNS),
            added.select(["id", "filter"]).cast(_COLUMNS),
        ]
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, _COLUMNS) as writer:
        writer.write_table(rows)
    replace_durably(path, sink.getvalue().to_pybytes())
    return rows.num_rows


def read_change(path: str | Path) -> tuple[list[str], pa.Table]:
    """The ids removed, and the subscriptions added."""
    try:
        rows = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise IndexFileError(f"the change file {path} is lost or damaged: {error}") from error
    removed = rows.filter(rows["filter"].is_null())["id"].to_pylist()
    return removed, rows.filter(rows["filter"].is_valid())


def apply_change(index: Index, path: str | Path) -> int:
    """Brings an index from the version before the change to the one after it; tells how many rows that took."""
    removed, added = read_change(path)
    index.remove(removed)
    index.add(added)
    return len(removed) + added.num_rows
