"""Bytes that a service's state folder takes, by what they hold, and memory that its processes take at most."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.service.server import Server
from tamis.matchlog import Segment
from tamis.matchlog.segment import SUFFIX

LEFT_OUT = ("spool", "spark")  # the log that was published to, and Spark's scratch files, which a start clears away
DATABASE = "store.sqlite"
_BODIES = "store.sqlite:events"
_EVENTS_OF = "events of "  # a segment: what it has of events stands beside the rest of it


def bytes_on_disk(state: Path) -> dict[str, int]:
    """Bytes of a state folder: of each table and index of the store, and of each other file by its path.

    Tables are counted in pages, as the store sees them: what waits in the write-ahead log is counted where it belongs.
    """
    found = _tables(state / DATABASE) if (state / DATABASE).exists() else {}
    for file in state.rglob("*"):
        place = file.relative_to(state)
        if place.parts[0] in LEFT_OUT or place.name.startswith(DATABASE):
            continue
        try:
            if file.is_file():
                found[str(place)] = size = file.stat().st_size
                if place.suffix == SUFFIX:
                    found[f"{_EVENTS_OF}{place}"] = its = Segment.open(file).event_bytes
                    found[str(place)] = size - its
        except FileNotFoundError:  # merged or dropped meanwhile
            continue
    return found


def grown(before: dict[str, int], after: dict[str, int]) -> tuple[int, int]:
    """Bytes that came to a state folder: those of events' bodies, and all others."""
    bodies = others = 0
    for name in before.keys() | after.keys():
        more = after.get(name, 0) - before.get(name, 0)
        if name == _BODIES or name.startswith(_EVENTS_OF):
            bodies += more
        else:
            others += more
    return bodies, others


def _tables(file: Path) -> dict[str, int]:
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=60.0) as connection:
        rows = connection.execute("SELECT name, SUM(pgsize) FROM dbstat WHERE aggregate = TRUE GROUP BY name")
        found = {f"{DATABASE}:{name}": int(size) for name, size in rows}
    connection.close()
    return found


class PeakMemory:
    """Greatest memory of a server and its descendants while the context is open, sampled twice a second.

    Proportional set size: a page that several processes share is counted once. `peak` is the greatest sum, and
    `by_process` has the greatest of each kind of process.
    """

    def __init__(self, server: Server, seconds: float = 0.5) -> None:
        self.peak = 0
        self.by_process: dict[str, int] = {}
        self._server, self._seconds = server, seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while True:
            self._sample([(self._server.pid, "service"), *self._server.descendants()])
            if self._over.wait(self._seconds):
                return

    def _sample(self, processes: Iterable[tuple[int, str]]) -> None:
        sizes: dict[str, int] = {}
        for pid, command in processes:
            kind = _kind(command)
            sizes[kind] = sizes.get(kind, 0) + proportional_bytes(pid)
        self.peak = max(self.peak, sum(sizes.values()))
        for kind, size in sizes.items():
            self.by_process[kind] = max(self.by_process.get(kind, 0), size)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()


def proportional_bytes(pid: int) -> int:
    """Proportional set size of a process; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


def _kind(command: str) -> str:
    program = command.split(" -cp ")[0]
    if command == "service":
        return "service"
    if program.split(" ")[0].endswith("java"):
        return "java"
    if "tamis.service.examining" in program:
        return "examiners"
    # The process was called `matching` until 0.1.
    return "pipeline" if program.rstrip().endswith(("tamis.service.worker", "tamis.service.matching")) else "workers"
