"""Join subscriptions in a file of a saved index: ids and texts, mapped into memory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tamis.errors import IndexFileError

_FILE = "joins.arrow"
_COLUMNS = pa.schema([("id", pa.large_string()), ("filter", pa.large_string())])


def save_joins(ids: list[str], texts: list[str], folder: Path) -> None:
    with pa.OSFile(str(folder / _FILE), "wb") as sink, pa.ipc.new_file(sink, _COLUMNS) as writer:
        writer.write_table(pa.table([ids, texts], schema=_COLUMNS))


def read_joins(folder: str | Path) -> pa.Table:
    """Columns `id` and `filter`; empty where nothing was saved."""
    path = Path(folder) / _FILE
    if not path.exists():
        return _COLUMNS.empty_table()
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise IndexFileError(f"{path} is lost or damaged: {error}") from error
