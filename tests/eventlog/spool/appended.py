"""Events for spools: numbered, so that a gap or a repeat shows in what was read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tamis.eventlog.spool import SpoolReader, SpoolWriter


def ids(start: int, count: int) -> pa.Array:
    return pa.array([f"evt_{number}" for number in range(start, start + count)], pa.string())


def bodies(start: int, count: int, padding: int = 0) -> pa.Array:
    return pa.array([f'{{"n":{number},"p":"{"x" * padding}"}}' for number in range(start, start + count)], pa.string())


def append(writer: SpoolWriter, start: int, count: int, *, padding: int = 0, key: str | None = None) -> int:
    """Appends numbered events and returns the first offset."""
    return writer.submit(ids(start, count), bodies(start, count, padding), key).result().first


def filled(folder: Path, *counts: int, padding: int = 0, segment_bytes: int = 1 << 26) -> None:
    """A spool with so many frames of so many events, closed again."""
    writer = SpoolWriter(folder, segment_bytes=segment_bytes)
    start = 0
    for count in counts:
        append(writer, start, count, padding=padding)
        start += count
    writer.close()


def read_ids(folder: Path, start: int | None = None, end: int | None = None, rows: int = 1000) -> list[str]:
    """The ids of the events in a range, of all unless said otherwise; their offsets must be as they should."""
    reader = SpoolReader(folder)
    first, last = reader.bounds()
    start, end = first if start is None else start, last if end is None else end
    batches = list(reader.read(start, end, rows))
    offsets = [offset for batch in batches for offset in batch["offset"].to_pylist()]
    assert offsets == list(range(start, end))
    return [id for batch in batches for id in batch["id"].to_pylist()]


def numbered(start: int, end: int) -> list[str]:
    return [f"evt_{number}" for number in range(start, end)]
