"""The event log that needs nothing but a folder."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tamis.eventlog.base.records import Receipt
from tamis.eventlog.spool import SpoolReader, SpoolWriter, sweep
from tamis.pipeline.read_spool import read_spool

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SpoolLog:
    """A spool folder as an event log. The writer, and with it the lock, is taken by the first append at the latest."""

    shared = None

    def __init__(self, folder: str | Path, *, write: bool = False) -> None:
        self._folder = Path(folder)
        self._reader = SpoolReader(self._folder)
        self._opening = threading.Lock()
        self._writer: SpoolWriter | None = None
        if write:
            self._opened()

    @property
    def folder(self) -> Path:
        """Where the events are."""
        return self._folder

    async def append(
        self, ids: pa.Array, bodies: pa.Array, *, key: str | None = None, content: pa.Array | None = None
    ) -> Receipt:
        """See EventLog. Appends that come together share one write and one fsync."""
        writer = self._writer
        if writer is None:
            # Opening looks through the newest segment, which would be felt by everyone else in the loop.
            writer = await asyncio.to_thread(self._opened)
        return await asyncio.wrap_future(writer.submit(ids, bodies, key, content))

    def recent(self, count: int) -> pa.Table:
        """See EventLog."""
        return self._reader.recent(count)

    def frame(self, spark: SparkSession, *, stream: bool, start: int | str | None = None) -> DataFrame:
        """See EventLog."""
        number = json.loads(start)["event"] if isinstance(start, str) else start
        return read_spool(spark, self._folder, stream=stream, start=number)

    def size(self) -> tuple[int, int]:
        """See EventLog."""
        return self._reader.size()

    def sweep(self, before: datetime, processed: int) -> int:
        """See EventLog: whole segments go, the oldest first, never the newest."""
        return sweep(self._folder, before, processed)

    async def close(self) -> None:
        """See EventLog."""
        if self._writer is not None:
            await asyncio.to_thread(self._writer.close)

    def _opened(self) -> SpoolWriter:
        with self._opening:
            if self._writer is None:
                self._writer = SpoolWriter(self._folder)
            return self._writer
