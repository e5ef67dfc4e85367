"""Numba's compiler, set up once: kernels are cached on disk, and the cache knows every file they may be made of.

Numba looks only at the file of the kernel itself, but a kernel has the kernels it calls and the constants it reads
compiled into it. Their files may change while its own does not, and code of two versions would work on one memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba as nb

# In the order of the ladder: a kernel may be made of what is in its own room and in those before it.
_ROOMS = ("language", "matching", "routing", "analysis")


def _sources() -> dict[str, str]:
    """For each room a hash of everything that its kernels may be made of."""
    root = Path(__file__).parent
    content = hashlib.blake2b(Path(__file__).read_bytes(), digest_size=16)
    hashes: dict[str, str] = {}
    for room in _ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            content.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
        hashes[room] = content.hexdigest()
    return hashes


SOURCES = _sources()


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    options |= {"nogil": True, "boundscheck": False}
    if nb.config.DISABLE_JIT:
        return function
    try:
        dispatcher = nb.njit(cache=True, **options)(function)
    except RuntimeError:  # no place on this machine can be written to: compiled anew in every process
        return nb.njit(**options)(function)
    room = function.__module__.partition(".")[2].partition(".")[0]
    dispatcher._cache._cache_file._source_stamp = SOURCES.get(room, SOURCES[_ROOMS[-1]])
    return dispatcher


def kernel(function: Callable[..., Any]) -> Any:
    """Compiled on first use, kept on disk, run without the interpreter's lock and without bounds checks."""
    return _compiled(function)


def bare_kernel(function: Callable[..., Any]) -> Any:
    """The same without Numba's reference counts, for kernels that allocate nothing.

    Counting the arrays that small kernels hand each other would cost more than their work.
    """
    return _compiled(function, _nrt=False)
