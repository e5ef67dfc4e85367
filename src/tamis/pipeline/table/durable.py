"""Small files that are there whole or not at all, also after a crash."""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterator
from pathlib import Path


def replace_durably(path: Path, content: bytes) -> None:
    """Writes or overwrites a file: whoever reads it sees the old content or the new, never a part."""
    temporary = _written(path, content)
    temporary.replace(path)
    flush_folder(path.parent)


def create_durably(path: Path, content: bytes) -> bool:
    """Writes a file unless there is one of that name: false if there is. Of several who try at once, one succeeds."""
    temporary = _written(path, content)
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    flush_folder(path.parent)
    return True


def flush_folder(folder: Path) -> None:
    """Makes the names in a folder survive a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock of that name against other threads and processes; the system frees it if this one dies."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _written(path: Path, content: bytes) -> Path:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return temporary
