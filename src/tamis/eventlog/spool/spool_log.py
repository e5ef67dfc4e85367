"""Event log in a spool folder, and its writer: concurrent appends share one write and one fsync (group commit)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import pyarrow as pa

from tamis.eventlog.base.event_log import (
    IdempotencyConflict,
    NotAppended,
    Receipt,
    as_strings,
    content_hash,
    key_hash,
    microseconds,
)
from tamis.eventlog.spool.reader import SpoolReader
from tamis.eventlog.spool.segments import MOST_BYTES, NO_KEY, SegmentFile, sweep
from tamis.eventlog.spool.tail import Events, Files, Tail

SEGMENT_BYTES: Final = 1 << 26
# Size limit of one write, so that it is over soon and nobody waits long for the next.
_GROUP_BYTES: Final = 1 << 24
# Small appends are joined into one frame up to here: a reader of few events still need not read many.
_FRAME_BYTES: Final = 1 << 20
_WAITING_BYTES: Final = 1 << 28


@dataclass(slots=True, eq=False)
class _Append:
    """Events to append. `answer` is settled once: when they are durable, or will not be."""

    events: Events
    nbytes: int
    answer: Future[Receipt] = field(default_factory=Future)


class SpoolWriter:
    """Writer of a spool, for any thread. One per folder: it holds the folder's lock.

    `submit` only queues; a thread takes all queued appends as one group, writes and syncs it, moves the durable mark,
    and settles the answers. If any of this fails the group is rolled back and all its answers fail: the spool is as it
    was. Only that thread touches `_tail` and `_taken`; `_waiting`, `_bytes` and `_closing` are shared under `_wake`.
    """

    def __init__(self, folder: str | Path, *, segment_bytes: int = SEGMENT_BYTES, files: Files = SegmentFile) -> None:
        self._tail = Tail(Path(folder), segment_bytes=segment_bytes, files=files)
        self._wake = threading.Condition()
        self._waiting: list[_Append] = []
        self._bytes = 0
        self._closing = False
        self._taken: list[_Append] = []
        self._thread = threading.Thread(target=self._run, name="tamis-spool", daemon=True)
        self._thread.start()

    def submit(
        self,
        ids: pa.Array | pa.ChunkedArray,
        bodies: pa.Array | pa.ChunkedArray,
        key: str | None = None,
        content: pa.Array | None = None,
    ) -> Future[Receipt]:
        """Queues events; the answer is settled when they are durable.

        The answer, or this call, may be NotAppended (nothing was kept); the answer IdempotencyConflict if the key was
        used for others before, by their `content` if it is given, else by the bodies. ValueError: there are not as many
        ids as bodies, or one is null.
        """
        ids, bodies = as_strings(ids, "ids"), as_strings(bodies, "bodies")
        if len(ids) != len(bodies):
            raise ValueError(f"{len(ids)} ids for {len(bodies)} bodies")
        hashes = (
            (NO_KEY, NO_KEY) if key is None else (key_hash(key), content_hash(bodies if content is None else content))
        )
        append = _Append(Events(ids, bodies, *hashes), ids.nbytes + bodies.nbytes)
        if append.nbytes > MOST_BYTES:
            raise NotAppended(f"{append.nbytes} bytes in one append are too many; send at most {MOST_BYTES}")
        with self._wake:
            if self._closing:
                raise NotAppended("the spool is closed")
            if self._waiting and self._bytes + append.nbytes > _WAITING_BYTES:
                raise NotAppended("the disk does not keep up with what is sent; try again later")
            self._waiting.append(append)
            self._bytes += append.nbytes
            self._wake.notify()
        return append.answer

    def close(self) -> None:
        """Writes queued events, and releases the lock."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._take():
                self._commit()
        finally:
            with self._wake:
                self._closing = True
                left = [append for append in (*self._taken, *self._waiting) if not append.answer.done()]
                self._waiting = []
            for append in left:
                append.answer.set_exception(NotAppended("the spool's writer has ended"))
            self._tail.close()

    def _take(self) -> bool:
        """Waits for appends and takes a group of them. Returns False when there will be no more."""
        with self._wake:
            while not (self._waiting or self._closing):
                self._wake.wait()
            taken = size = 0
            while taken < len(self._waiting) and (not taken or size < _GROUP_BYTES):
                size += self._waiting[taken].nbytes
                taken += 1
            group, self._waiting = self._waiting[:taken], self._waiting[taken:]
            self._bytes -= size
        # Whoever gave up before his turn is not waited for by anyone: nothing of it need be written.
        self._taken = [append for append in group if append.answer.set_running_or_notify_cancel()]
        return bool(group)

    def _commit(self) -> None:
        now = microseconds()
        # Appends that are new, and those whose key is known, or will be when the new ones are written.
        fresh: list[_Append] = []
        repeats: list[_Append] = []
        keys: set[bytes] = set()
        for append in self._taken:
            key = append.events.key
            known = key != NO_KEY and (key in keys or self._tail.keys.find(key, now) is not None)
            (repeats if known else fresh).append(append)
            if len(append.events.ids):
                keys.add(key)
        first = self._tail.end
        refusal: NotAppended | None = None
        try:
            self._tail.append(_frames(fresh), now)
        except OSError as error:
            refusal = NotAppended(f"the spool could not be written: {error.strerror or error}")
        for append in fresh:
            count = len(append.events.ids)
            if refusal is None:
                append.answer.set_result(Receipt(first, count))
            else:
                append.answer.set_exception(refusal)
            first += count
        for append in repeats:
            self._answer_repeat(append, now, refusal)

    def _answer_repeat(self, append: _Append, now: int, refusal: NotAppended | None) -> None:
        """Settles a repeat with the receipt of the first append under the key; its outcome is known by now."""
        known = self._tail.keys.find(append.events.key, now)
        if known is None:
            append.answer.set_exception(refusal or NotAppended("there is nothing under this key"))
        elif known.content != append.events.content:
            append.answer.set_exception(IdempotencyConflict("this idempotency key was used for other events before"))
        else:
            append.answer.set_result(Receipt(known.first, known.count, repeated=True))


def _frames(appends: Iterable[_Append]) -> list[Events]:
    """Frames to write: an append under a key by itself, others joined into one frame while it is small."""
    runs: list[list[Events]] = []
    room = -1  # bytes that the last run may still take; not even an empty append joins one under a key
    for append in appends:
        keyed = append.events.key != NO_KEY
        if keyed or append.nbytes > room:
            runs.append([])
            room = _FRAME_BYTES
        runs[-1].append(append.events)
        room = -1 if keyed else room - append.nbytes
    frames = [
        run[0]
        if len(run) == 1
        else Events(
            pa.concat_arrays([events.ids for events in run]),
            pa.concat_arrays([events.bodies for events in run]),
            NO_KEY,
            NO_KEY,
        )
        for run in runs
    ]
    return [events for events in frames if len(events.ids)]


# Event log that needs nothing but a folder.


class SpoolLog(SpoolReader):
    """Event log in a spool folder. The writer, and with it the lock, is opened by the first append at the latest."""

    shared = None

    def __init__(self, folder: str | Path, *, write: bool = False) -> None:
        super().__init__(folder)
        self._opening = threading.Lock()
        self._writer: SpoolWriter | None = None
        if write:
            self._opened()

    async def append(
        self, ids: pa.Array, bodies: pa.Array, *, key: str | None = None, content: pa.Array | None = None
    ) -> Receipt:
        """See EventLog. Appends that come together share one write and one fsync."""
        writer = self._writer
        if writer is None:
            # Opening looks through the newest segment, which would be felt by everyone else in the loop.
            writer = await asyncio.to_thread(self._opened)
        return await asyncio.wrap_future(writer.submit(ids, bodies, key, content))

    def sweep(self, before: datetime, processed: int) -> int:
        """See EventLog: whole segments go, the oldest first, never the newest."""
        return sweep(self.folder, before, processed)

    async def close(self) -> None:
        """See EventLog."""
        if self._writer is not None:
            await asyncio.to_thread(self._writer.close)

    def _opened(self) -> SpoolWriter:
        with self._opening:
            if self._writer is None:
                self._writer = SpoolWriter(self.folder)
            return self._writer
