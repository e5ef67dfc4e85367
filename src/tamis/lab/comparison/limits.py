"""How much memory a process may take: an allocation beyond it fails by itself, instead of the system killing some."""

from __future__ import annotations

import resource
from pathlib import Path

_MEMORY = Path("/proc/meminfo")
_SHARE = 0.9  # of what is available: the rest of the machine goes on
# How those say it that raise no MemoryError: a thread that is not started wants memory for its stack.
_WORDS = ("MemoryError", "out of memory", "bad_alloc", "Cannot allocate memory", "Failed to launch worker thread")


def available_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say."""
    try:
        lines = dict(line.split(":", 1) for line in _MEMORY.read_text(encoding="ascii").splitlines())
        return int(int(lines["MemAvailable"].split()[0]) * 1024 * _SHARE)
    except (OSError, KeyError, ValueError):
        return None


def limit_memory(more: int) -> None:
    """So many bytes more than this process has now."""
    taken = _data_bytes()
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = taken + more if hard == resource.RLIM_INFINITY else min(taken + more, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def tells_of_memory(complaint: str) -> bool:
    """Whether these are the words of something that got no memory."""
    return any(words in complaint for words in _WORDS)


def _data_bytes() -> int:
    """What counts against the limit already: private memory that can be written to."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields["VmData"].split()[0]) * 1024
