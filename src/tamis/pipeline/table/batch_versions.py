"""The version of the subscriptions that a micro-batch uses: noted before it runs, so that a replay uses it again."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tamis.durable import create_durably, flush
from tamis.pipeline.calling.crew import Crew
from tamis.pipeline.table.snapshot import Snapshot
from tamis.pipeline.table.versions import Versions
from tamis.schema import Schema

LOCK = "lock"
NOTES = "notes"


class Notes:
    """One file a batch: `<folder>/<stream>/<batch>` holds the version's number. A note, once made, never changes.

    Spark runs a batch only after the one before it is committed; so a note for batch n ends those before n.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, stream: str, batch: int, version: int) -> int:
        """Notes the version for this batch, durably, unless there is a note: the version first noted is returned."""
        folder = self._folder / stream
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            flush(self._folder)
        path = folder / str(batch)
        if not create_durably(path, str(version).encode()):
            version = int(path.read_bytes())
        for other, earlier in _batches(folder):
            if earlier < batch:
                other.unlink(missing_ok=True)
        return version

    def versions(self) -> set[int]:
        """The versions that a replay may still ask for."""
        return {int(path.read_bytes()) for stream in self.streams() for path, _ in _batches(self._folder / stream)}

    def streams(self) -> list[str]:
        """The streams that have noted something, running or not."""
        return sorted(path.name for path in self._folder.iterdir() if path.is_dir())

    def forget(self, stream: str) -> None:
        """Drops the notes of a stream that will never be resumed."""
        shutil.rmtree(self._folder / stream, ignore_errors=True)


def _batches(folder: Path) -> list[tuple[Path, int]]:
    return [(path, int(path.name)) for path in folder.iterdir() if path.name.isdecimal()]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock of that name against other threads and processes; the system frees it if this one dies."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def version_for(folder: Path, stream: str, batch: int) -> int:
    """The version that this micro-batch is to use: the newest, or on a replay the one it used first.

    It is on disk when this returns, and its files are kept at least until the stream takes its next batch.
    """
    with locked(folder / LOCK):
        return Notes(folder / NOTES).note(stream, batch, Versions(folder).newest().version)


@dataclass(frozen=True, slots=True)
class Live:
    """A table of subscriptions of which each micro-batch takes the newest version when its first task runs."""

    schema: Schema
    folder: str
    crew: Crew | None = None

    def snapshot(self, stream: str, batch: int) -> Snapshot:
        folder = Path(self.folder)
        return Snapshot(self.schema, (Versions(folder).part(version_for(folder, stream, batch)),), self.crew)
