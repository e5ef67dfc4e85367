"""A workload as a folder of files, for the process that measures with it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from tamis.schema import Schema
from tamis.workloads import Workload

_ABOUT, _SUBSCRIPTIONS, _EVENTS, _EXPECTED = "about.json", "subscriptions.arrow", "events.arrow", "expected.arrow"


def save_workload(workload: Workload, folder: Path) -> None:
    """Into a folder that is there and empty."""
    _write(workload.subscriptions, folder / _SUBSCRIPTIONS)
    _write(workload.events, folder / _EVENTS)
    if workload.expected is not None:
        _write(pa.table({"matches": workload.expected}), folder / _EXPECTED)
    about = {"name": workload.name, "schema": workload.schema.to_dict()}
    (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")


def open_workload(folder: Path) -> Workload:
    """What was saved; the tables are mapped, not read."""
    about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
    expected = _map(folder / _EXPECTED)["matches"].to_numpy() if (folder / _EXPECTED).exists() else None
    return Workload(
        about["name"],
        Schema.from_dict(about["schema"]),
        _map(folder / _SUBSCRIPTIONS),
        _map(folder / _EVENTS),
        expected,
    )


def _write(table: pa.Table, path: Path) -> None:
    with pyarrow.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def _map(path: Path) -> pa.Table:
    return pyarrow.ipc.open_file(pa.memory_map(str(path))).read_all()
