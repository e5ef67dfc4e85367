"""Lines of a file or a pipe, in blocks, each with its number in the file."""

from __future__ import annotations

import codecs
import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.cli.base.failures import CommandError
from tamis.cli.base.paths import STREAM

_BLOCK = 4 << 20


@dataclass(frozen=True, slots=True)
class Lines:
    """Consecutive lines without the blank ones. `numbers` counts from 1; `consumed` is where the file stands now."""

    lines: list[bytes]
    numbers: npt.NDArray[np.int64]
    consumed: int

    def decoded(self) -> tuple[pa.StringArray, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The lines that are UTF-8, their positions here, and the positions of those that are not."""
        everything = np.arange(len(self.lines))
        try:
            return pa.array(self.lines, pa.binary()).cast(pa.string()), everything, everything[:0]
        except pa.ArrowInvalid:
            sound = np.array([_is_utf8(line) for line in self.lines], np.bool_)
            kept = [line for line, good in zip(self.lines, sound, strict=True) if good]
            return pa.array(kept, pa.binary()).cast(pa.string()), everything[sound], everything[~sound]

    def text(self, position: int) -> str:
        return self.lines[position].decode("utf-8", "backslashreplace")


def read_lines(path: Path, rows: int) -> Iterator[Lines]:
    """Blocks of at most so many lines. From a pipe a block comes as soon as there is something to read."""
    try:
        yield from _numbered(path, rows)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CommandError(f"{path}: no gzip file, or a damaged one: {error}") from error


def _numbered(path: Path, rows: int) -> Iterator[Lines]:
    with _opened(path) as (stream, raw):
        number = 0
        for block in _blocks(stream):
            if number == 0:
                block[0] = block[0].removeprefix(codecs.BOM_UTF8)  # it marks the file as UTF-8, and is no part of it
            for start in range(0, len(block), rows):
                piece = block[start : start + rows]
                kept = [k for k, line in enumerate(piece) if line and not line.isspace()]
                if kept:
                    numbers = np.array(kept, np.int64) + (number + start + 1)
                    yield Lines([piece[k] for k in kept], numbers, raw.tell() if raw is not None else 0)
            number += len(block)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes] | None]]:
    """The stream to read from, and the file beneath it that knows how far reading has come."""
    if path == STREAM:
        yield sys.stdin.buffer, None
    elif path.name.lower().endswith(".gz"):
        with path.open("rb") as raw, gzip.open(raw) as stream:
            yield cast("IO[bytes]", stream), raw
    else:
        with path.open("rb") as raw:
            yield raw, raw


def _blocks(stream: IO[bytes]) -> Iterator[list[bytes]]:
    rest = b""
    while chunk := stream.read1(_BLOCK):  # type: ignore[attr-defined]
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        if lines:
            yield lines
    if rest:
        yield [rest]


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
