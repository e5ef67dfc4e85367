"""What was learned of operators, as a file beside the index: written by the driver, read by workers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from tamis.durable import replace_durably
from tamis.errors import IndexFileError
from tamis.operators.learning import COUNTS, Seen

LEARNED = "learned.arrow"

_COUNTED = ("evaluated", "held", "timed", "milliseconds")
_COLUMNS = pa.schema(
    [
        pa.field("operator", pa.string()),
        pa.field("predicate", pa.uint64()),
        *(pa.field(name, pa.float64()) for name in _COUNTED),
    ]
)


def write_learned(path: Path, seen: Mapping[str, Seen]) -> None:
    """Writes or overwrites the file; whoever reads it sees the old content or the new."""
    names = pa.array(list(seen), pa.string()).take(
        pa.array(np.repeat(np.arange(len(seen)), [*map(len, seen.values())]))
    )
    some = list(seen.values())
    keys = np.concatenate([np.zeros(0, np.uint64), *(one.keys for one in some)])
    counts = np.concatenate([np.zeros((COUNTS, 0)), *(one.counts for one in some)], axis=1)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, _COLUMNS) as writer:
        writer.write_table(pa.Table.from_arrays([names, pa.array(keys), *map(pa.array, counts)], schema=_COLUMNS))
    replace_durably(path, sink.getvalue().to_pybytes())


def read_learned(path: Path) -> dict[str, Seen]:
    """By operator; empty where there is no file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        rows = pa.ipc.open_file(content).read_all().cast(_COLUMNS)
    except (pa.ArrowInvalid, ValueError) as error:
        raise IndexFileError(f"{path} is damaged: {error}; delete it, what it tells is learned again") from error
    names = np.asarray(rows["operator"])
    keys = np.asarray(rows["predicate"])
    counts = np.stack([np.asarray(rows[name]) for name in _COUNTED])
    return {name: Seen.of(keys[names == name], counts[:, names == name]) for name in np.unique(names).tolist()}


def stamp(path: str) -> tuple[int, int] | None:
    """Other for another content; None where there is no file."""
    try:
        about = Path(path).stat()
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_mtime_ns
