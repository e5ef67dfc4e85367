"""Joins in the folder of a saved index: ids and texts, and the rows of every table as they are."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.errors import IndexFileError
from tamis.joins.intake import TableRecord
from tamis.joins.server import JoinServer

_TEXTS = "joins.arrow"
_COLUMNS = pa.schema([("id", pa.large_string()), ("filter", pa.large_string())])
_ABOUT = b"tamis"


def save_joins(server: JoinServer, folder: Path) -> dict[str, Any]:
    """Writes subscriptions and tables; what `open_joins` has to know of the files."""
    files = {_TEXTS: _written(folder / _TEXTS, server.texts().cast(_COLUMNS))}
    for number, (name, record) in enumerate(server.tables().items()):
        table = pa.Table.from_batches([record.rows])
        about = {"table": name, "arrived": record.arrived, "latest": record.latest, "arrivals": record.arrivals}
        file = f"table-{number}.arrow"
        files[file] = _written(folder / file, table.replace_schema_metadata({_ABOUT: json.dumps(about)}))
    return {"files": files, "sequence": server.sequence}


def open_joins(server: JoinServer, folder: Path, about: dict[str, Any], verify: bool = True) -> None:
    """Fills a server that nothing was told yet with what `save_joins` wrote."""
    records = {}
    for file, checksum in about["files"].items():
        table = _read(folder / file, checksum if verify else None)
        if file == _TEXTS:
            continue
        told = json.loads(table.schema.metadata[_ABOUT])
        whole = table.replace_schema_metadata().combine_chunks()
        rows = whole.to_batches()[0] if len(whole) else pa.RecordBatch.from_pylist([], schema=whole.schema)
        records[told["table"]] = TableRecord(rows, told["arrivals"], told["arrived"], told["latest"])
    server.restore(records, about["sequence"])
    server.add(read_joins(folder))


def read_joins(folder: str | Path) -> pa.Table:
    """Columns `id` and `filter` of the joins in a saved index; empty where there are none."""
    path = Path(folder) / _TEXTS
    return _read(path, None) if path.exists() else _COLUMNS.empty_table()


def _written(path: Path, table: pa.Table) -> int:
    """Writes a table; its checksum."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pa.memory_map(str(path)) as file:
        return zlib.crc32(file.read_buffer())


def _read(path: Path, checksum: int | None) -> pa.Table:
    try:
        file = pa.memory_map(str(path))
        if checksum is not None and zlib.crc32(file.read_buffer()) != checksum:
            raise IndexFileError(f"{path} is damaged: it does not agree with its checksum; compile anew")
        file.seek(0)
        return pa.ipc.open_file(file).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise IndexFileError(f"{path} is lost or damaged: {error}; compile anew") from error
