"""Spark checkpoint of the stream: flushed like the store that it has to agree with, mended after crashes, and read for
streams, offsets and ranks.

Spark's checkpoint is safe against the death of a process, not against that of the machine: its files are not flushed.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tamis.durable import flush, replace_durably

_STREAM: Final = "stream.json"
_METADATA: Final = "metadata"
_LOGS: Final = ("offsets", "commits")


@dataclass(frozen=True, slots=True)
class Range:
    """Beginning and end of a batch, summed over the log's partitions."""

    start: int
    end: int


class Checkpoint:
    """Folder that a query is resumed from, and the name under which the store knows its batches.

    Spark numbers the batches of a checkpoint from 0; in the store they go on from `first`, so that positions grow even
    if the checkpoint was deleted and everything is read again.

    A batch is written to the store only after its plan in `offsets`, and the query's `metadata`, were flushed. So where
    a crash has lost one of these or cut it off, the store has nothing of the batch, and it may be planned anew. Where a
    bad disk has, the store may have the batch, and would take another plan under its number for what it has: then the
    batches get a new name, `damage` says so, and what the store has of events after the last whole plan comes again.
    """

    def __init__(
        self,
        folder: Path,
        head_batch: int,
        last: str | None = None,
        begin: str = "",
        recorded: Callable[[str], int | None] = lambda _: None,
    ) -> None:
        """`head_batch` is one more than the last batch that the store may have.

        `last` is the stream that recorded events of this log last, if the store knows: where it is another one, what is
        in the folder is the past, and a new stream begins. `begin` is where, in Spark's words; empty: at the beginning.
        `recorded` tells the newest batch that the store has of a stream.
        """
        self.folder = folder
        self._offsets = folder / "offsets"
        self._secured = False
        self._begun_at = begin
        self._begin = _sum(json.loads(begin)) if begin else 0
        self.damage: str | None = None
        note = folder / _STREAM
        self._mend()
        left = self._left(recorded)
        # Without its note, the folder may be one whose removal a crash cut short.
        if last is not None and left != last and folder.exists():
            shutil.rmtree(folder)
        if left is None or not note.exists():
            folder.mkdir(parents=True, exist_ok=True)
            told = {"stream": uuid.uuid4().hex, "first": head_batch}
            replace_durably(note, json.dumps(told).encode())
            flush(folder.parent)
        noted = json.loads(note.read_bytes())
        self.stream: str = noted["stream"]
        self.first: int = noted["first"]

    def secure(self, batch: int) -> None:
        """Flushes the plan of a batch, so that it survives a crash of the machine."""
        if not self._secured:
            flush(self.folder / _METADATA)
            flush(self.folder)
            self._secured = True
        flush(self._offsets / str(batch))
        flush(self._offsets)

    def end(self, batch: int) -> str:
        """End of a batch, in Spark's own words."""
        return _last_line(self._offsets / str(batch)).decode()

    def range(self, batch: int) -> Range:
        """Events of a batch, as far as the log counts them by number."""
        return Range(self._end(batch - 1) if batch else self._begin, self._end(batch))

    def ends(self, batch: int) -> dict[str, int]:
        """The number after the last event of a batch, by partition."""
        return _by_partition(self.end(batch))

    def ranks(self, batch: int) -> dict[int, int] | None:
        """What makes of an event's number in its partition its rank in the batch, by partition: to be added.

        Ranks go by partition and number, and may have holes. None where the plan does not tell where the batch begins.
        """
        before = self.end(batch - 1) if batch else self._begun_at
        ends = self.ends(batch)
        starts = _by_partition(before) if before else {}
        ranks, base = {}, 0
        for partition, end in sorted((int(name), end) for name, end in ends.items()):
            start = starts.get(str(partition), 0 if len(ends) == 1 and not before else None)
            if start is None:
                return None
            ranks[partition] = base - start
            base += end - start
        return ranks

    def _left(self, recorded: Callable[[str], int | None]) -> str | None:
        """Name of the stream in the folder, if it can be resumed under that name."""
        note = self.folder / _STREAM
        if not note.exists():
            return None
        try:
            noted = json.loads(note.read_bytes())
            stream, first = str(noted["stream"]), int(noted["first"])
        except (ValueError, KeyError, TypeError):
            self.damage = f"{note} cannot be read"
            return None
        newest = max((int(path.name) for path in self._offsets.glob("*")), default=-1)
        known = recorded(stream)
        if known is not None and known > first + newest:
            self.damage = f"{self._offsets} lacks batch {known - first}, which the store has"
            return None
        return stream

    def _end(self, batch: int) -> int:
        try:
            return _sum(json.loads(_last_line(self._offsets / str(batch))))
        except (OSError, ValueError):
            return 0

    def _mend(self) -> None:
        """Removes remains of a crash: empty or truncated files of the machine's, and drafts of a process.

        Spark refuses to begin where there is even a draft of the first batch.
        """
        metadata = self.folder / _METADATA
        begun = metadata.exists() and _whole(metadata)
        # With its checksum, in whose place Spark would not put another.
        for path in (*self.folder.glob(".*.tmp"), *(() if begun else (metadata, self.folder / f".{_METADATA}.crc"))):
            path.unlink(missing_ok=True)
        for name in _LOGS:
            for path in (self.folder / name).glob("*"):
                if not (begun and path.name.isdecimal() and _whole(path)):
                    path.unlink()


def _by_partition(offsets: str) -> dict[str, int]:
    noted = json.loads(offsets)
    number = noted.get("event")
    return {"0": number} if isinstance(number, int) else next(iter(noted.values()), {})


def _whole(path: Path) -> bool:
    try:
        json.loads(_last_line(path))
    except ValueError:
        return False
    return True


def _last_line(path: Path) -> bytes:
    """Offsets in a log file of Spark: it has a line for the format, one for the batch, and one a source; the query has
    one source.
    """
    return path.read_bytes().rstrip(b"\n").rpartition(b"\n")[2]


def _sum(offsets: Any) -> int:
    """Sum of an offset's numbers: one for the spool, one per partition for Kafka, under the topic."""
    if isinstance(offsets, dict):
        return _sum(offsets["event"]) if "event" in offsets else sum(map(_sum, offsets.values()))
    return offsets if isinstance(offsets, int) else 0
