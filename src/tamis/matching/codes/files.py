"""File format of saved arrays, memory-mapped: versioned, checksummed, written whole or not at all.

Layout: magic, then the header's length and checksum, the header (JSON: what each array is and where), the arrays,
each on a 64-byte boundary.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.arrays import Arrays
from tamis.durable import replacing_durably
from tamis.errors import IndexFileError

FORMAT = 1
_MAGIC = b"TAMIS\0LV"
_START = struct.Struct("<8sIIQ")  # magic, format, checksum of the header, its length
_BOUNDARY = 64


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any]) -> None:
    """Writes arrays to a file that gets its name once all of it is on disk: a crash leaves no half of it."""
    entries: list[tuple[str, str, list[int], int, int, int]] = []
    at = 0
    data = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in data.items():
        at = _rounded(at)
        entries.append((name, array.dtype.str, list(array.shape), at, array.nbytes, _checksum(array)))
        at += array.nbytes
    header = json.dumps({"about": dict(about), "arrays": entries}).encode()
    with replacing_durably(path) as file:
        file.write(_START.pack(_MAGIC, FORMAT, zlib.crc32(header), len(header)))
        file.write(header)
        base = _rounded(file.tell())
        for (_, _, _, offset, _, _), array in zip(entries, data.values(), strict=True):
            file.write(b"\0" * (base + offset - file.tell()))
            file.write(_bytes(array))


def read_arrays(path: Path, verify: bool = True) -> tuple[Arrays, dict[str, Any]]:
    """Maps a file's arrays copy-on-write (pages are shared until written to); returns them and the metadata."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(_START.size)
            if len(start) < _START.size or not start.startswith(_MAGIC):
                raise IndexFileError(f"{path} is no index file, or its beginning is lost; compile the index again")
            _, version, checksum, length = _START.unpack(start)
            if version > FORMAT:
                raise IndexFileError(
                    f"{path} has format {version}, this version reads up to {FORMAT}; open it with a newer Tamis"
                )
            header = file.read(min(length, size))
            if len(header) < length or zlib.crc32(header) != checksum:
                raise _damaged(path, "its header")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise IndexFileError(f"cannot read {path}: {error.strerror or error}") from error
    content = json.loads(header)
    base, arrays = _rounded(_START.size + length), {}
    for name, kind, shape, offset, nbytes, expected in content["arrays"]:
        if base + offset + nbytes > size:
            raise _damaged(path, name)
        dtype = np.dtype(kind)
        count = nbytes // dtype.itemsize
        array = np.frombuffer(mapped, dtype, count, base + offset) if count else np.zeros(0, dtype)
        if verify and _checksum(array) != expected:
            raise _damaged(path, name)
        arrays[name] = array.reshape(shape)
    return arrays, content["about"]


@dataclass(frozen=True, slots=True)
class Source:
    """The file that arrays were read from, by its path and by which file it was: another may take its place there."""

    path: Path
    device: int
    number: int

    @classmethod
    def of(cls, path: Path) -> Source | None:
        """Source of the file at a path; None if there is no such file: reading it reports why."""
        try:
            status = path.stat()
        except OSError:
            return None
        return cls(path.absolute(), status.st_dev, status.st_ino)

    def link(self, path: Path) -> bool:
        """Links the file under another name; False if it is not where it was, or on another file system."""
        if self != Source.of(self.path):
            return False
        try:
            path.hardlink_to(self.path)
        except OSError:
            return False
        return True


def _damaged(path: Path, part: str) -> IndexFileError:
    return IndexFileError(f"{path} is damaged ({part} does not agree with its checksum); compile the index again")


def _checksum(array: npt.NDArray[Any]) -> int:
    return zlib.crc32(_bytes(array))


def _bytes(array: npt.NDArray[Any]) -> Any:
    return array.reshape(-1).view(np.uint8).data if array.nbytes else b""


def _rounded(at: int) -> int:
    return -(-at // _BOUNDARY) * _BOUNDARY
