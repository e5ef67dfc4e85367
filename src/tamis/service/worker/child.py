"""One pipeline process as its parent sees it."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Final

from tamis.service.worker.messages import Message, read

_LAST_WORDS: Final = 40
_LINE_BYTES: Final = 1 << 20
_SHOWN: Final = 2_000
_SILENCE_SECONDS: Final = 5.0
_POLL: Final = 0.05


class Child:
    """A process and all it started, from `start` to `end`. It leads a process group of its own."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._hearing = asyncio.create_task(self._hear(), name="pipeline process's standard error")

    @classmethod
    async def start(cls, command: Sequence[str], first_line: bytes) -> Child:
        """Starts it. What it has to know comes by standard input, where nobody else sees it; OSError if it cannot."""
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True, limit=_LINE_BYTES
        )
        assert process.stdin is not None
        with suppress(ConnectionError):
            process.stdin.write(first_line + b"\n")
            await process.stdin.drain()
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def last_words(self) -> tuple[str, ...]:
        """The last lines that it, or the JVM, wrote to standard error."""
        return tuple(self._last_words)

    async def messages(self) -> AsyncIterator[Message]:
        """What it says, until it ends."""
        assert self._process.stdout is not None
        async for line in _lines(self._process.stdout):
            message = read(line)
            if message is not None:
                yield message

    def ask_to_stop(self) -> None:
        """Closes its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def ended(self) -> None:
        """Returns when the process is gone; what it started may not be."""
        # asyncio's own way to wait also waits for the pipes, which others may hold.
        while self._process.returncode is None:
            await asyncio.sleep(_POLL)

    async def end(self) -> str:
        """Kills what is still there of the process group; how the process ended, in words."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self.ended()
        # Spark's workers hold the pipe until they have noticed that the JVM is gone.
        await asyncio.wait({self._hearing}, timeout=_SILENCE_SECONDS)
        self._hearing.cancel()
        code = self._process.returncode or 0
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    async def _hear(self) -> None:
        assert self._process.stderr is not None
        async for line in _lines(self._process.stderr):
            self._last_words.append(line[:_SHOWN].decode(errors="replace").rstrip())


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The lines of a stream; of one that is too long, nothing."""
    while True:
        try:
            line = await stream.readline()
        except ValueError:
            continue
        if not line:
            return
        yield line
