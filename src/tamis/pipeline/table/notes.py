"""Which version of the subscriptions a micro-batch used first: noted before it runs, so that a replay uses it again."""

from __future__ import annotations

import shutil
from pathlib import Path

from tamis.durable import create_durably, flush


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
