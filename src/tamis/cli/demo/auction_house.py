"""The source of the demo's stream: files of auctions that appear in a folder at a steady rate."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tamis.schema import Schema
from tamis.schema.timestamps import write_instant
from tamis.workloads.auctions import auction_schema, json_lines

WRITTEN = "written"

_FILES_A_SECOND = 5
_POOL = 20_000
_MALFORMED = 0.001


def demo_schema() -> Schema:
    """The auctions' schema, extended by the moment at which an event was written: latency is measured from it."""
    types = auction_schema().event_types
    return auction_schema().extend(
        attributes={WRITTEN: "timestamp"}, optional={name: {WRITTEN: "optional"} for name in types}
    )


class AuctionHouse(threading.Thread):
    """Writes a file of lots every fifth of a second, some of them malformed, until it is told to close.

    A file appears under its name only when it is complete, as a streaming source expects. `events` and `files` say how
    much has been written so far.
    """

    def __init__(self, folder: Path, rate: int, seed: int = 1) -> None:
        super().__init__(name="auction house", daemon=True)
        self._folder = folder
        self._lines = itertools.cycle(list(json_lines(_POOL, seed, malformed=_MALFORMED)))
        self._lots = max(1, rate // _FILES_A_SECOND)
        self._closing = threading.Event()
        self.events = 0
        self.files = 0

    def run(self) -> None:
        due = time.monotonic()
        while not self._closing.is_set():
            self.write_files(1)
            # Counted from the start, so that a slow write does not lower the rate.
            due += 1 / _FILES_A_SECOND
            self._closing.wait(max(0.0, due - time.monotonic()))

    def write_files(self, count: int) -> None:
        for _ in range(count):
            partial = self._folder / f".lots-{self.files:06}.jsonl"
            partial.write_text("\n".join(self._stamped(self._lots)) + "\n", encoding="utf-8")
            partial.replace(self._folder / partial.name[1:])
            self.events += self._lots
            self.files += 1

    def close(self) -> None:
        self._closing.set()
        if self.is_alive():
            self.join()

    def _stamped(self, count: int) -> Iterator[str]:
        moment = write_instant(datetime.now(UTC))
        for line in itertools.islice(self._lines, count):
            yield f'{line[:-1]}, "{WRITTEN}": "{moment}"}}' if line.endswith("}") else line
