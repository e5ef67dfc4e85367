"""One examiner as the service sees it: a process that is asked one thing at a time, and killed when it is late."""

from __future__ import annotations

import asyncio
import os
import struct
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Final

import orjson

from tamis.service.intake.problems import Fault, Problem

# What a service and its examiners say to each other: frames of a kind, a length and bytes.

HEAD: Final = struct.Struct(">cQ")

QUESTION, LOADING, BEGUN, ANSWER, REFUSAL, FAULT = b"Q", b"L", b"B", b"A", b"R", b"F"
"""`LOADING`: the examiner loads what it needs for this question, and for which nobody who asks is to blame."""


def framed(kind: bytes, *parts: bytes) -> bytes:
    """A frame as it goes over a pipe."""
    return b"".join((HEAD.pack(kind, sum(map(len, parts))), *parts))


_COMMAND: Final = (sys.executable, "-m", "tamis.service.examining")
_LOADING_SECONDS: Final = 600.0  # operators may load models, and say themselves when they give up
_LONGEST_ANSWER: Final = 16 << 20
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_POLL: Final = 0.25  # seconds between two looks at the memory
_MOST_MEMORY: Final = 1 << 30  # bytes more than it had before the question


class Gone(Exception):  # noqa: N818 - reads as what happened
    """The process ended, or said what it cannot say."""


class Examiner:
    """A process from `start` to `kill`. It is of no more use once a question was left without its answer."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.schema: int | None = None  # the version that it knows

    @classmethod
    async def start(cls, first_line: bytes) -> Examiner:
        """Starts it; it has loaded what it always needs when this returns. `Gone` if it ends before."""
        process = await asyncio.create_subprocess_exec(*_COMMAND, stdin=PIPE, stdout=PIPE)
        found = cls(process)
        try:
            await found._write(first_line + b"\n")
            async with asyncio.timeout(_LOADING_SECONDS):
                if (await found._read())[0] != BEGUN:
                    raise Gone
        except BaseException:
            found.kill()
            raise
        return found

    async def ask(self, question: bytes, seconds: float) -> bytes:
        """The answer as JSON, or the `Problem` that the question is refused with; TimeoutError when it is late."""
        await self._write(framed(QUESTION, question))
        before, left = self._memory(), seconds
        loop = asyncio.get_running_loop()
        deadline = loop.time() + left
        reading = asyncio.create_task(self._read())
        try:
            while True:
                await asyncio.wait({reading}, timeout=max(0.0, min(_POLL, deadline - loop.time())))
                if not reading.done():
                    if loop.time() >= deadline or self._memory() - before > _MOST_MEMORY:
                        raise TimeoutError
                    continue
                kind, body = reading.result()
                if kind == LOADING:
                    left, deadline = max(0.0, deadline - loop.time()), loop.time() + _LOADING_SECONDS
                elif kind == BEGUN:
                    # What was looked at before counts, what was loaded does not.
                    left = float(body) if body else left
                    deadline, before = loop.time() + left, self._memory()
                else:
                    return self._answer(kind, body)
                reading = asyncio.create_task(self._read())
        finally:
            reading.cancel()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    def kill(self) -> None:
        """Ends it at once, whatever it does; a second time it does nothing."""
        with suppress(ProcessLookupError):
            self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def ended(self) -> None:
        """Returns when the process is gone."""
        await self._process.wait()

    def _answer(self, kind: bytes, body: bytes) -> bytes:
        if kind == ANSWER:
            return body
        if kind == FAULT:
            raise RuntimeError("an examiner failed; its reason is in what it wrote to standard error")
        told = orjson.loads(body)
        errors = [Fault.model_validate(one) for one in told["errors"]]
        raise Problem(told["status"], told["kind"], told["detail"], errors, told["headers"])

    async def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except ConnectionError as error:
            raise Gone from error

    async def _read(self) -> tuple[bytes, bytes]:
        assert self._process.stdout is not None
        try:
            kind, length = HEAD.unpack(await self._process.stdout.readexactly(HEAD.size))
            if length > _LONGEST_ANSWER:
                raise Gone
            return kind, await self._process.stdout.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Gone from error

    def _memory(self) -> int:
        """Bytes that it has resident; 0 where that cannot be told."""
        try:
            return int(Path(f"/proc/{self._process.pid}/statm").read_bytes().split()[1]) * _PAGE
        except (OSError, IndexError, ValueError):
            return 0
