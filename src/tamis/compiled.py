"""Decorators that compile kernels with Numba and cache them on disk, keyed by every file they may be made of.

Numba looks only at the file of the kernel itself, but a kernel has the kernels it calls and the constants it reads
compiled into it. Their files may change while its own does not, and code of two versions would work on one memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

_ROOMS = (
    "language",
    "matching",
    "routing",
    "operators",
    "joins",
    "matchlog",
    "analysis",
    "lab",
)  # those with kernels; each may use those before it

_TOLD: list[Callable[[], None]] = []


def when_compiling(tell: Callable[[], None]) -> None:
    """Registers a callback for the compilation of a kernel, which happens only where it is not in the cache.

    Callbacks can be registered before there are kernels, without loading Numba.
    """
    _TOLD.append(tell)


@cache
def _numba() -> ModuleType:
    """Numba, loaded with the first kernel."""
    import numba
    from numba.core import event

    class Compiling(event.Listener):
        def on_start(self, _: Any) -> None:
            for tell in _TOLD:
                tell()

        def on_end(self, _: Any) -> None:
            """Nothing to say: results follow."""

    event.register("numba:compile", Compiling())
    return numba


_unkept: list[str] = []


def kernels_are_kept() -> bool:
    """True if compiled kernels are cached for the next process too; else each compiles for itself, for minutes."""
    return not _unkept


@cache
def _sources(room: str) -> str:
    """Hash of all files that a kernel of this room may be made of; of any other room, of all files."""
    rooms = _ROOMS[: _ROOMS.index(room) + 1] if room in _ROOMS else _ROOMS
    content = hashlib.blake2b(Path(__file__).read_bytes(), digest_size=16)
    for each in rooms:
        content.update(_content(each))
    return content.hexdigest()


@cache  # most processes have kernels of several rooms, and each reads those before it
def _content(room: str) -> bytes:
    root = Path(__file__).parent
    content = hashlib.blake2b(digest_size=16)
    for path in sorted((root / room).rglob("*.py")):
        content.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return content.digest()


def _room(function: Callable[..., Any]) -> str:
    """The second part of the module's name: `matching` of `tamis.matching.patterns.kernels`."""
    return [*function.__module__.split("."), ""][1]


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    nb = _numba()
    options |= {"nogil": True, "boundscheck": False}
    if nb.config.DISABLE_JIT:
        return function
    try:
        dispatcher = nb.njit(cache=True, **options)(function)
    except RuntimeError:  # no place on this machine can be written to: compiled anew in every process
        _unkept.append(function.__module__)
        return nb.njit(**options)(function)
    dispatcher._cache._cache_file._source_stamp = _sources(_room(function))
    # A cache that cannot be read or has no space left costs the time of compiling again, and is no reason to fail.
    dispatcher._cache._guard_against_spurious_io_errors = lambda: suppress(OSError)
    return dispatcher


def kernel(function: Callable[..., Any]) -> Any:
    """Kernel: compiled on first use, cached on disk, run without the interpreter's lock and without bounds checks."""
    return _compiled(function)


def bare_kernel(function: Callable[..., Any]) -> Any:
    """Kernel without Numba's reference counts, for kernels that allocate nothing.

    Counting the arrays that small kernels hand each other would cost more than their work.
    """
    return _compiled(function, _nrt=False)


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """Bare kernel that is inlined into every kernel that calls it.

    For small ones that take a tuple of many arrays: passing it would cost more than their work.
    """
    return _compiled(function, _nrt=False, forceinline=True)
