"""Supervisor of the pipeline process: starts it, reads its messages, restarts it after failures, stops it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from tamis.operators.health import Tally
from tamis.service.base.configuration import Settings
from tamis.service.worker.messages import (
    Batch,
    Fared,
    Followed,
    Heartbeat,
    Message,
    Noticed,
    Operators,
    State,
    Suspended,
    Turn,
    read,
)

# One pipeline process, as its parent sees it.

_LAST_WORDS: Final = 40
_LINE_BYTES: Final = 1 << 20
_SHOWN: Final = 2_000
_SILENCE_SECONDS: Final = 5.0
_POLL: Final = 0.05


class Child:
    """Process and all its descendants, from `start` to `end`. It leads a process group of its own."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._hearing = asyncio.create_task(self._hear(), name="pipeline process's standard error")

    @classmethod
    async def start(cls, command: Sequence[str], first_line: bytes) -> Child:
        """Starts the process. Its settings go by standard input, unseen by others; OSError if it cannot start."""
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
        """Last lines that it, or the JVM, wrote to standard error."""
        return tuple(self._last_words)

    async def messages(self) -> AsyncIterator[Message]:
        """Messages of the process, until it ends."""
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
        """Returns when the process is gone; its descendants may not be."""
        # asyncio's own way to wait also waits for the pipes, which others may hold.
        while self._process.returncode is None:
            await asyncio.sleep(_POLL)

    async def end(self) -> str:
        """Kills the rest of the process group; returns how the process ended, in words."""
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
    """Lines of a stream; a line that is too long is skipped."""
    while True:
        try:
            line = await stream.readline()
        except ValueError:
            continue
        if not line:
            return
        yield line


_LOG: Final = logging.getLogger("tamis.matching")
_COMMAND: Final = (sys.executable, "-m", "tamis.service.worker")
_FIRST_DELAY: Final = 0.25
_LONGEST_DELAY: Final = 30.0
_HEALTHY_SECONDS: Final = 60.0
_SILENCE: Final = 120.0  # seconds: a large table is built in less, and other threads may have to wait for that
_LOOKS: Final = 10
_LONG: Final = 60.0  # seconds of one micro-batch; some tenths are usual


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """Status of the pipeline process.

    `since` is when it came into its state (seconds since 1970). `error` is why it last failed, and `stderr` its last
    words then; both stay until it fails again. `last` is the last batch heard of; the sums are over all processes since
    the service started. The table of subscriptions is at the store's `revision`; `refused` counts those of the store's
    subscriptions that it did not take, and `suspended` those that it took out since they held others up. `operators`
    have their counts summed in the same way; an operator that nothing was heard of is not there. `busy` is for how many
    seconds the micro-batch under way had been running when it last gave a sign of life; 0 between batches.
    """

    state: State
    since: float
    pid: int | None = None
    restarts: int = 0
    error: str | None = None
    stderr: tuple[str, ...] = ()
    last: Batch | None = None
    batches: int = 0
    events: int = 0
    matches: int = 0
    dead: int = 0
    revision: int = 0
    refused: int = 0
    suspended: int = 0
    busy: float = 0.0
    operators: Mapping[str, Fared] = field(default_factory=dict)


class Supervisor:
    """Keeps one pipeline process running, from `start` to `stop`. For one event loop.

    A process that ends by itself is restarted after a delay that doubles each time, up to half a minute; one that ran
    for a minute resets the delay. A running process sends heartbeats, and is killed when there was none for `silence`
    seconds, since it or its JVM hangs. Its descendants are killed with it: none is left when the next one starts.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        command: Sequence[str] = _COMMAND,
        grace: float = 10.0,
        silence: float = _SILENCE,
    ) -> None:
        self._first_line = settings.to_json().encode()
        self._command = command
        self._grace = grace
        self._silence = silence
        self._signs = 0  # of life, from the process that runs now
        self._patience = _LONG  # with the batch under way
        self._status = PipelineStatus("stopped", time.time())
        self._callbacks: list[Callable[[Batch], None]] = []
        self._counted: dict[str, Tally] = {}  # of operators, by processes that have ended
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def status(self) -> PipelineStatus:
        return self._status

    def on_batch(self, callback: Callable[[Batch], None]) -> None:
        """Registers `callback`, called in the event loop as soon as a batch is in the store. It must not block.

        Also called, with a head and no events, when a process is up: the one before may have recorded a batch in its
        last moment without reporting it.
        """
        self._callbacks.append(callback)

    async def start(self) -> None:
        """Starts the process; returns without waiting for Spark."""
        if self._task is not None:
            raise RuntimeError("the pipeline process is supervised already")
        self._stopping.clear()
        self._turn("starting")
        self._task = asyncio.create_task(self._keep_running(), name="pipeline supervisor")

    async def stop(self) -> None:
        """Stops the process: asks first, and kills the process group after the grace period."""
        self._stopping.set()
        if self._task is not None:
            await self._task
            self._task = None
        self._turn("stopped")

    async def _keep_running(self) -> None:
        delay = _FIRST_DELAY
        while not self._stopping.is_set():
            began = time.monotonic()
            await self._one_life()
            if self._stopping.is_set():
                return
            if time.monotonic() - began > _HEALTHY_SECONDS:
                delay = _FIRST_DELAY
            self._turn("restarting")
            try:
                await asyncio.wait_for(self._stopping.wait(), delay)
            except TimeoutError:
                self._status = replace(self._status, restarts=self._status.restarts + 1)
            delay = min(2 * delay, _LONGEST_DELAY)

    async def _one_life(self) -> None:
        self._turn("starting")
        self._counted = {name: fared.tally for name, fared in self._status.operators.items()}
        try:
            child = await Child.start(self._command, self._first_line)
        except OSError as error:
            self._fail(f"the pipeline process cannot be started: {error}", ())
            return
        self._status = replace(self._status, pid=child.pid)
        self._signs = 0
        self._keeps_busy(0.0)
        listening = asyncio.create_task(self._listen(child))
        ended = asyncio.create_task(child.ended())
        silent = asyncio.create_task(self._fallen_silent())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({ended, silent, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done() and not silent.done():
                child.ask_to_stop()
                await asyncio.wait({ended}, timeout=self._grace)
        finally:
            ending = await child.end()
            # With the group the last holder of the pipe is gone: what is in it now is all there will be.
            await asyncio.wait({listening}, timeout=self._grace)
            for task in (listening, ended, silent, stopping):
                task.cancel()
        if not self._stopping.is_set():
            told = self._status.error if self._status.state == "failed" else None
            if not silent.cancelled() and silent.done():
                told = f"the pipeline process gave no sign of life for {self._silence:g} seconds, and was killed"
            self._fail(told or f"the pipeline process ended with {ending}", child.last_words)

    async def _listen(self, child: Child) -> None:
        async for message in child.messages():
            self._heard(message)

    async def _fallen_silent(self) -> None:
        """Returns when a running process sends no heartbeats any more."""
        # Looks are counted, and not the time: where this process stood still as well, there was nobody to hear.
        quiet = 0
        while quiet < _LOOKS:
            before = self._signs
            await asyncio.sleep(self._silence / _LOOKS)
            quiet = quiet + 1 if before and before == self._signs else 0

    def _heard(self, message: Message) -> None:
        now = self._status
        if isinstance(message, Batch):
            self._status = replace(
                now,
                last=message,
                batches=now.batches + 1,
                events=now.events + message.events,
                matches=now.matches + message.matches,
                dead=now.dead + message.dead,
                revision=max(now.revision, message.revision),
            )
            self._tell(message)
        elif isinstance(message, Turn):
            self._turn(message.state, message.error)
            self._signs += message.state == "running"
            if message.head is not None:
                self._tell(Batch(-1, message.head))
        elif isinstance(message, Followed):
            self._status = replace(now, revision=message.followed)
        elif isinstance(message, Heartbeat):
            self._signs += 1
            self._keeps_busy(message.busy)
        elif isinstance(message, Operators):
            told = {name: Fared.from_dict(form) for name, form in message.operators.items()}
            summed = {name: fared.after(self._counted.get(name, Tally())) for name, fared in told.items()}
            self._status = replace(now, operators={**now.operators, **summed})
        elif isinstance(message, Suspended):
            self._status = replace(now, suspended=now.suspended + 1)
            _LOG.warning("subscription %s was suspended: %s", message.id, message.reason)
        elif isinstance(message, Noticed):
            _LOG.warning("%s", message.noticed)
        else:
            self._status = replace(now, refused=now.refused + 1)
            _LOG.warning("subscription %s matches nothing: %s", message.subscription, message.reason)

    def _keeps_busy(self, seconds: float) -> None:
        """Notes how long the batch under way has been running, and logs it when that is long."""
        # A worker that hangs gives no other sign: Spark waits for it, and so does everything after.
        if seconds < self._status.busy:
            self._patience = _LONG
        self._status = replace(self._status, busy=seconds)
        if seconds >= self._patience:
            self._patience = 2 * seconds
            _LOG.warning(
                "a micro-batch has been running for %.0f seconds, and events behind it wait: it is large, or an "
                "operator that it calls hangs or is slow",
                seconds,
            )

    def _tell(self, batch: Batch) -> None:
        for callback in self._callbacks:
            try:
                callback(batch)
            except Exception:  # noqa: BLE001 - one listener's fault must not keep the others from hearing
                _LOG.exception("a listener to batches failed")

    def _turn(self, state: State, error: str | None = None) -> None:
        self._status = replace(
            self._status,
            state=state,
            since=time.time() if state != self._status.state else self._status.since,
            pid=None if state in ("stopped", "failed", "restarting") else self._status.pid,
            error=error or self._status.error,
        )

    def _fail(self, error: str, last_words: tuple[str, ...]) -> None:
        self._turn("failed", error)
        self._status = replace(self._status, stderr=last_words)
        _LOG.error("%s; it is started again", error)
