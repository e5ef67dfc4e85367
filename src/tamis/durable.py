"""What survives a crash: files and folders that are flushed, and small files that are there whole or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def replace_durably(path: Path, content: bytes) -> None:
    """Writes or overwrites a file: whoever reads it sees the old content or the new, never a part."""
    temporary = _written(path, content)
    temporary.replace(path)
    flush(path.parent)


def create_durably(path: Path, content: bytes) -> bool:
    """Writes a file unless there is one of that name: false if there is. Of several who try at once, one succeeds."""
    temporary = _written(path, content)
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    flush(path.parent)
    return True


def flush(path: Path) -> None:
    """Makes a file's content, or the names in a folder, survive a crash: no file's own flush keeps its name."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _written(path: Path, content: bytes) -> Path:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return temporary
