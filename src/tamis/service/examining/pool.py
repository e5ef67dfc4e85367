"""Examiner processes: one with its pipes and questions, and the pool of a few, with a fair share for each caller and
deadlines.
"""

from __future__ import annotations

import asyncio
import logging
import os
import struct
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson
from starlette.requests import ClientDisconnect, Request

from tamis.schema import Schema
from tamis.service.base.configuration import Settings
from tamis.service.intake.allowances import Claimant, Line
from tamis.service.intake.problems import Fault, Problem

# One examiner, as the service sees it: a process that answers one question at a time, and is killed when it is late.

# Messages between a service and its examiners: frames of a kind, a length and bytes.

HEAD: Final = struct.Struct(">cQ")

QUESTION, LOADING, BEGUN, ANSWER, REFUSAL, FAULT = b"Q", b"L", b"B", b"A", b"R", b"F"
"""`LOADING`: the examiner loads what it needs for this question, and for which nobody who asks is to blame."""


def framed(kind: bytes, *parts: bytes) -> bytes:
    """Frame as bytes for a pipe."""
    return b"".join((HEAD.pack(kind, sum(map(len, parts))), *parts))


_COMMAND: Final = (sys.executable, "-m", "tamis.service.examining")
_LOADING_SECONDS: Final = 600.0  # operators may load models, and say themselves when they give up
_LONGEST_ANSWER: Final = 16 << 20
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_POLL: Final = 0.25  # seconds between two looks at the memory
_MOST_MEMORY: Final = 1 << 30  # bytes more than it had before the question


class Gone(Exception):  # noqa: N818 - reads as what happened
    """The process ended, or sent an invalid frame."""


class Examiner:
    """Examiner process from `start` to `kill`. Unusable once a question was left without its answer."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.schema: int | None = None  # the version that it knows

    @classmethod
    async def start(cls, first_line: bytes) -> Examiner:
        """Starts the process, and returns once it has loaded what it always needs. `Gone` if it ends before."""
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
        """Answer as JSON, or the `Problem` that the question is refused with; TimeoutError when it is late."""
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
        """Kills the process at once; a second call does nothing."""
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
        """Resident bytes of the process; 0 where that cannot be told."""
        try:
            return int(Path(f"/proc/{self._process.pid}/statm").read_bytes().split()[1]) * _PAGE
        except (OSError, IndexError, ValueError):
            return 0


_LOG: Final = logging.getLogger("tamis.service")
_WAITING: Final = 20  # questions of one caller that wait for a place
_IDLE_SECONDS: Final = 60.0  # after which all but one of the examiners that nobody asks end


class Examiners:
    """Pool of examiner processes: at most `limits.examiners`, started on demand.

    One that does not answer within `limits.examine_seconds` is killed, and so is one whose question nobody waits for
    any more: a filter's work cannot be interrupted otherwise. Another one is started when it is needed. Belongs to the
    event loop.
    """

    def __init__(self, settings: Settings) -> None:
        self._first_line = settings.to_json().encode()
        self._seconds = settings.limits.examine_seconds
        self._line = Line(settings.limits.examiners, _WAITING)
        self._idle: list[Examiner] = []
        self._all: set[Examiner] = set()
        self._closed = False
        self._ending: set[asyncio.Task[None]] = set()

    async def warm(self) -> None:
        """Starts one process, so that the first question need not wait for that."""
        if self._all or self._closed:
            return
        try:
            self._put_back(await self._start())
        except (Gone, OSError, TimeoutError) as error:
            _LOG.warning("a process to examine filters cannot be started: %s", str(error) or "it ended at once")

    async def ask(
        self,
        who: Claimant,
        question: dict[str, Any],
        schema: tuple[int, Schema],
        tail: Callable[[], Awaitable[bytes]] | None = None,
    ) -> bytes:
        """Answer of an examiner, as JSON; a `Problem` if the question is refused, or takes too long.

        `tail` fetches what goes with the question, once there is a place for it.
        """
        async with self._line.place(who):
            more = b"" if tail is None else await tail()
            try:
                examiner = self._rested() or await self._start()
            except (Gone, OSError, TimeoutError):
                raise _failed() from None
            try:
                answer = await examiner.ask(_written(examiner, question, schema, more), self._seconds)
            except Problem:
                self._put_back(examiner)
                raise
            except TimeoutError:
                self._end(examiner)
                raise _too_long(self._seconds) from None
            except Gone:
                self._end(examiner)
                raise _failed() from None
            except BaseException:
                self._end(examiner)
                raise
            self._put_back(examiner)
            return answer

    @property
    def pids(self) -> set[int]:
        """Process ids of the pool."""
        return {examiner.pid for examiner in self._all}

    async def close(self) -> None:
        """Kills all processes."""
        self._closed = True
        for examiner in tuple(self._all):
            self._end(examiner)
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _rested(self) -> Examiner | None:
        """Idle process that has not died meanwhile, if there is any."""
        while self._idle:
            if (examiner := self._idle.pop()).is_alive:
                return examiner
            self._end(examiner)
        return None

    async def _start(self) -> Examiner:
        examiner = await Examiner.start(self._first_line)
        self._all.add(examiner)
        if self._closed:
            self._end(examiner)
            raise Gone
        return examiner

    def _put_back(self, examiner: Examiner) -> None:
        if examiner not in self._all:
            return
        # The one that was used last is used next, so that those that are not needed stay idle.
        self._idle.append(examiner)
        if len(self._idle) > 1:
            asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._let_go, self._idle[0])

    def _let_go(self, examiner: Examiner) -> None:
        """Ends a process that is still idle, if another one remains."""
        if len(self._idle) > 1 and self._idle[0] is examiner:
            del self._idle[0]
            self._end(examiner)

    def _end(self, examiner: Examiner) -> None:
        if examiner in self._all:
            self._all.discard(examiner)
            examiner.kill()
            task = asyncio.create_task(examiner.ended())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)


async def unless_gone(request: Request, asking: asyncio.Task[bytes]) -> bytes:
    """Answer to a question, cancelled when the client disconnects."""
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            raise ClientDisconnect
        return asking.result()
    finally:
        for task in (asking, leaving):
            task.cancel()
        await asyncio.gather(asking, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _written(examiner: Examiner, question: dict[str, Any], schema: tuple[int, Schema], tail: bytes) -> bytes:
    """Question as a line of JSON, with the schema if the examiner has another one, and with its attachment."""
    version, known = schema
    form = None
    if examiner.schema != version:
        examiner.schema, form = version, known.to_dict()
    return orjson.dumps({**question, "schema": form}) + b"\n" + tail


def _too_long(seconds: float) -> Problem:
    detail = (
        f"the answer took more than {seconds:g} seconds, or too much memory: ask about a simpler filter, or a smaller "
        "event"
    )
    return Problem(422, "deadline", detail)


def _failed() -> Problem:
    detail = "the process that looks at filters ended; try again"
    return Problem(503, "unavailable", detail, headers={"Retry-After": "1"})
