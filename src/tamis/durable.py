"""Durable files and folders: fsync, atomic replacement, exclusive creation; remedies for errors of SQLite."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

UNFINISHED: Final = ".new"
"""Suffix of files that a crash kept from getting their name: the owner of the folder may remove them."""

_DAMAGED: Final = "the file is damaged: stop what uses it and restore its whole folder from a backup, or begin anew"
_UNUSABLE: Final = "may this user write there, is there room, and is the disk well?"
_SQLITE_REMEDIES: Final = {
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_IOERR: _UNUSABLE,
    sqlite3.SQLITE_READONLY: _UNUSABLE,
    sqlite3.SQLITE_CANTOPEN: _UNUSABLE,
    sqlite3.SQLITE_FULL: _UNUSABLE,
}


def sqlite_remedy(error: BaseException) -> str:
    """Remedy, to be appended to SQLite's message, for a file that it cannot use; empty for other faults."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says more, which varies
    return f"; {_SQLITE_REMEDIES[code]}" if code in _SQLITE_REMEDIES else ""


def replace_durably(path: Path, content: bytes) -> None:
    """Writes or overwrites a file: a reader sees the old content or the new, never a part."""
    with replacing_durably(path) as file:
        file.write(content)


@contextmanager
def replacing_durably(path: Path) -> Iterator[BinaryIO]:
    """Replaces a file that is written piece by piece: it gets its name when all of it is on disk."""
    with _aside(path) as (file, temporary):
        yield file
        _flush_open(file)
        temporary.replace(path)
    flush(path.parent)


def create_durably(path: Path, content: bytes) -> bool:
    """Writes a file unless one of that name exists: returns False if so. Of several at once, one succeeds."""
    with _aside(path) as (file, temporary):
        file.write(content)
        _flush_open(file)
        try:
            path.hardlink_to(temporary)
        except FileExistsError:
            return False
    flush(path.parent)
    return True


def flush(path: Path) -> None:
    """Flushes a file's content, or the names in a folder, to disk: flushing a file alone does not keep its name."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _aside(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """New file beside a path, deleted in the end unless it was given another name."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{UNFINISHED}")
    try:
        with temporary.open("wb") as file:
            yield file, temporary
    finally:
        temporary.unlink(missing_ok=True)


def _flush_open(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
