"""Formats by the names of paths, and checks that a path can be written, before any work is done."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path

from tamis.cli.base.options import CommandError

STREAM = Path("-")


class Format(Enum):
    JSON_LINES = "JSON lines"
    JSON = "JSON"
    YAML = "YAML"
    CSV = "CSV"
    PARQUET = "Parquet"


_SUFFIXES = {
    ".jsonl": Format.JSON_LINES,
    ".ndjson": Format.JSON_LINES,
    ".jsonl.gz": Format.JSON_LINES,
    ".ndjson.gz": Format.JSON_LINES,
    ".json.gz": Format.JSON_LINES,
    ".json": Format.JSON,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
}


def format_of(path: Path, allowed: tuple[Format, ...], what: str) -> Format:
    """The format that the name's suffix stands for; refused where `what` cannot be in it."""
    name = path.name.lower()
    for suffix in sorted(_SUFFIXES, key=len, reverse=True):
        if name.endswith(suffix) and _SUFFIXES[suffix] in allowed:
            return _SUFFIXES[suffix]
    suffixes = ", ".join(suffix for suffix, form in _SUFFIXES.items() if form in allowed)
    raise CommandError(f"{path}: the name's suffix does not say how to read or write {what}; use one of {suffixes}")


def require_new_folder(path: Path) -> None:
    """As `require_writable`, for a folder that is made, with the folders above it."""
    if path.exists():
        raise CommandError(f"{path} exists already; Spark writes new folders only")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise NotADirectoryError(20, "", str(path))
    if not os.access(above, os.W_OK):
        raise PermissionError(13, "", str(path))


def require_writable(path: Path) -> None:
    """Complains now rather than after the work is done."""
    folder = path.parent if path.parent.name or path.is_absolute() else Path()
    if path.is_dir():
        raise IsADirectoryError(21, "", str(path))
    if not folder.is_dir():
        raise CommandError(f"{path}: there is no folder {folder}; make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise PermissionError(13, "", str(path))
