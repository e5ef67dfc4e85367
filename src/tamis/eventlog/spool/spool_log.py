"""The event log that needs nothing but a folder."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from tamis.eventlog.base.event_log import Receipt
from tamis.eventlog.spool.reader import SpoolReader
from tamis.eventlog.spool.segments import sweep
from tamis.eventlog.spool.writer import SpoolWriter


class SpoolLog(SpoolReader):
    """A spool folder as an event log. The writer, and with it the lock, is taken by the first append at the latest."""

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
