"""A segment file on a disk that fails when told to."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tamis.eventlog.spool.segments import SegmentFile


class Disk:
    """Which operations fail now: `write` leaves half of what it was given behind, as a full disk does."""

    def __init__(self) -> None:
        self.failing: frozenset[str] = frozenset()
        self.opened: list[Path] = []
        self.syncs = 0

    @contextmanager
    def fails(self, *operations: str) -> Iterator[None]:
        self.failing = frozenset(operations)
        yield
        self.failing = frozenset()

    def open(self, path: Path) -> SegmentFile:
        self.opened.append(path)
        return _File(path, self)

    def may(self, operation: str) -> bool:
        return operation not in self.failing


class _File(SegmentFile):
    def __init__(self, path: Path, disk: Disk) -> None:
        super().__init__(path)
        self._disk = disk

    def write(self, data: bytes, position: int) -> None:
        if not self._disk.may("write"):
            super().write(data[: len(data) // 2], position)
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write(data, position)

    def sync(self) -> None:
        self._disk.syncs += 1
        if not self._disk.may("sync"):
            raise OSError(errno.EIO, "Input/output error")
        super().sync()

    def truncate(self, size: int) -> None:
        if not self._disk.may("truncate"):
            raise OSError(errno.EIO, "Input/output error")
        super().truncate(size)
