"""Measuring process: runs matchers of a comparison in a process of its own, with limits of time and memory."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tamis.lab.comparison.measuring import BATCH_ROWS

# Memory limit of a process: an allocation beyond it fails by itself, instead of the system killing some.

_MEMORY = Path("/proc/meminfo")
_SHARE = 0.9  # of what is available: the rest of the machine goes on
# Messages of errors other than MemoryError: a thread that is not started lacked memory for its stack.
_WORDS = ("MemoryError", "out of memory", "bad_alloc", "Cannot allocate memory", "Failed to launch worker thread")


def available_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not report it."""
    try:
        lines = dict(line.split(":", 1) for line in _MEMORY.read_text(encoding="ascii").splitlines())
        return int(int(lines["MemAvailable"].split()[0]) * 1024 * _SHARE)
    except (OSError, KeyError, ValueError):
        return None


def limit_memory(more: int) -> None:
    """Limits this process to so many bytes more than it has now."""
    taken = _data_bytes()
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = taken + more if hard == resource.RLIM_INFINITY else min(taken + more, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def tells_of_memory(complaint: str) -> bool:
    """True if an error's text says that memory ran out."""
    return any(words in complaint for words in _WORDS)


def _data_bytes() -> int:
    """Bytes that count against the limit already: private memory that can be written to."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields["VmData"].split()[0]) * 1024


_COMMAND = (sys.executable, "-m", "tamis.lab.comparison.worker")


@dataclass(frozen=True, slots=True)
class Terms:
    """Limits of every cell: seconds to match in, seconds in all, bytes of memory (None: most of what there is)."""

    budget_seconds: float = 2.0
    limit_seconds: float = 300.0
    memory_bytes: int | None = None
    batch_rows: int = BATCH_ROWS


class Apart:
    """Process that measures some matchers, one after the other; it ends with the `with` block."""

    def __init__(self, folder: Path, matchers: Sequence[str], terms: Terms) -> None:
        self._limit = terms.limit_seconds
        self._complaints = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  # see __exit__
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, env=environment, text=True
        )
        orders = {"folder": str(folder), "matchers": list(matchers), "budget_seconds": terms.budget_seconds}
        memory = available_memory() if terms.memory_bytes is None else terms.memory_bytes
        orders |= {"batch_rows": terms.batch_rows, "memory_bytes": memory}
        with suppress(BrokenPipeError):  # it is gone already: `next` says why
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(orders) + "\n")
            self._process.stdin.flush()

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._complaints.close()

    def next(self) -> tuple[dict[str, Any], bool]:
        """Finding for the next matcher (`measurement` or `reason`), and True if the process can go on."""
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(self._limit, give_up)
        timer.start()
        try:
            assert self._process.stdout is not None
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        if line:
            return json.loads(line), True
        return {"reason": f"took longer than {self._limit:g} s" if late.is_set() else self._ending()}, False

    def _ending(self) -> str:
        code = self._process.wait()
        if code == -signal.SIGKILL:
            return "killed by the system, most likely for want of memory"
        self._complaints.seek(0)
        told = self._complaints.read().strip()
        if tells_of_memory(told):
            return "out of memory"
        ending = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"ended with {ending}: {told.rpartition(chr(10))[2]}"
