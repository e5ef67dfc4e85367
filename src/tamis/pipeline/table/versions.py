"""Versions of a subscription table: files of its folder, change files, locks, and the version of each batch."""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.durable import flush, replace_durably
from tamis.engine import Index
from tamis.errors import IndexFileError
from tamis.pipeline.table.calling import Crew
from tamis.pipeline.table.subscriptions import Part, Snapshot
from tamis.schema import Schema

FORMAT = 2  # the first had the notes of batches in files of their own, under `notes/<stream>/<batch>`
CURRENT = "current.json"
_NOTES = "notes"


@dataclass(frozen=True, slots=True)
class Newest:
    """Newest version, its base, and the number of changed rows since the base.

    `batches` has the version that a stream's batch used first, by stream and number; Spark runs a batch only after the
    one before it is committed, so a note ends those of earlier batches. `note` is the owner's: what of elsewhere the
    version has in it.
    """

    version: int
    base: int
    rows: int
    batches: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    note: Any = None

    def noted(self, stream: str, batch: int) -> int | None:
        """Version noted for a batch; None if there is no note."""
        return self.batches.get(stream, {}).get(str(batch))

    def with_batch(self, stream: str, batch: int) -> Newest:
        """Notes this version for a batch, for which none is noted yet."""
        later = {one: version for one, version in self.batches.get(stream, {}).items() if int(one) > batch}
        return replace(self, batches={**self.batches, stream: {str(batch): self.version, **later}})

    @property
    def needed(self) -> set[int]:
        """Versions that may still be asked for: this one, and those of batches that may be run again."""
        return {self.version} | {version for notes in self.batches.values() for version in notes.values()}


class Versions:
    """Folder of a table: `bases/<v>` are saved indexes, `changes/<v>.arrow` lead from v-1 to v, `current.json` tells
    the newest version.

    Version v is the newest base at or before v, with the changes after it up to v. Files are frozen once `current.json`
    has reached their version; those beyond it are left over from a crash, and are overwritten. Whoever writes holds the
    table's lock.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self) -> Path:
        """Creates the folders; returns the path of the first base."""
        if (self.folder / CURRENT).exists():
            raise IndexFileError(f"{self.folder} holds a table of subscriptions already; open it, or take a new folder")
        for name in ("bases", "changes"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        flush(self.folder)
        shutil.rmtree(self.base(1), ignore_errors=True)
        return self.base(1)

    def newest(self) -> Newest:
        """Newest version, by `current.json`."""
        try:
            current = json.loads((self.folder / CURRENT).read_text(encoding="utf-8"))
            written = current.pop("format")
            if written == 1:
                current["batches"] = self._old_notes()
            newest = Newest(**current) if written <= FORMAT else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexFileError(f"{self.folder} holds no table of subscriptions, or a damaged one: {error}") from error
        if newest is None:
            raise IndexFileError(f"{self.folder} was written by a newer Tamis (format {written})")
        return newest

    def publish(self, newest: Newest) -> None:
        """Makes this the newest version; all its files are on disk."""
        content = {"format": FORMAT, **asdict(newest)}
        replace_durably(self.folder / CURRENT, json.dumps(content).encode())

    def base(self, version: int) -> Path:
        return self.folder / "bases" / str(version)

    def change(self, version: int) -> Path:
        return self.folder / "changes" / f"{version}.arrow"

    def part(self, version: int) -> Part:
        """Files that make up a version."""
        base = self._base_of(version)
        if base is not None:
            changes = [self.change(number) for number in range(base + 1, version + 1)]
            if all(path.exists() for path in changes):
                return Part(str(self.base(base)), tuple(map(str, changes)))
        raise IndexFileError(f"{self.folder} has no version {version} any more; its files were swept")

    def sweep(self, needed: Iterable[int], after: timedelta) -> None:
        """Deletes files that none of these versions needs, if they were superseded at least `after` ago."""
        bases = self._bases()
        kept = {self._base_of(version) for version in needed}
        horizon = time.time() - after.total_seconds()
        for base, successor in pairwise(bases):
            if base not in kept and self.base(successor).stat().st_mtime <= horizon:
                shutil.rmtree(self.base(base))
        oldest = self._bases()[0]
        for path in (self.folder / "changes").glob("[0-9]*.arrow"):
            if int(path.stem) <= oldest:
                path.unlink()

    def _old_notes(self) -> dict[str, dict[str, int]]:
        """Notes of batches in the first format."""
        return {
            stream.name: {path.name: int(path.read_bytes()) for path in stream.iterdir() if path.name.isdecimal()}
            for stream in (self.folder / _NOTES).iterdir()
            if stream.is_dir()
        }

    def _base_of(self, version: int) -> int | None:
        return max((base for base in self._bases() if base <= version), default=None)

    def _bases(self) -> list[int]:
        return sorted(int(path.name) for path in (self.folder / "bases").iterdir() if path.name.isdecimal())


# Change files: subscriptions added and removed between two versions of a table.

# A row without a filter removes its id; removals come before additions, so a replaced subscription has one row of each.
_COLUMNS = pa.schema([pa.field("id", pa.large_string(), nullable=False), pa.field("filter", pa.large_string())])


def write_change(path: Path, removed: Iterable[str], added: pa.Table) -> int:
    """Writes a change file; returns its number of rows. `added` has the string columns id and filter."""
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
    """Removed ids, and added subscriptions."""
    try:
        rows = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise IndexFileError(f"the change file {path} is lost or damaged: {error}") from error
    removed = rows.filter(rows["filter"].is_null())["id"].to_pylist()
    return removed, rows.filter(rows["filter"].is_valid())


def apply_change(index: Index, path: str | Path) -> int:
    """Brings an index from the version before the change to the one after it; returns its number of rows."""
    removed, added = read_change(path)
    index.remove(removed)
    index.add(added)
    return len(removed) + added.num_rows


# Locks of a table's folder: file locks, so that processes heed them too.


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock of that name against other threads and processes; the system frees it if this one dies."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# Version of a micro-batch, chosen once and for all.

LOCK = "lock"


def version_for(folder: Path, stream: str, batch: int) -> int:
    """Version for this micro-batch: the newest, or on a replay the one it used first.

    The note is on disk when this returns, and its files are kept at least until the stream takes its next batch.
    """
    versions = Versions(folder)
    with locked(folder / LOCK):
        newest = versions.newest()
        noted = newest.noted(stream, batch)
        if noted is None:
            versions.publish(newest.with_batch(stream, batch))
        return newest.version if noted is None else noted


@dataclass(frozen=True, slots=True)
class Live:
    """Subscription table whose newest version each micro-batch takes when its first task runs."""

    schema: Schema
    folder: str
    crew: Crew | None = None

    def snapshot(self, stream: str, batch: int) -> Snapshot:
        folder = Path(self.folder)
        return Snapshot(self.schema, (Versions(folder).part(version_for(folder, stream, batch)),), self.crew)
