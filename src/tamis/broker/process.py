"""Broker process: the state machine on one thread, and gRPC streams that carry its messages."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import queue
import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

import grpc
import grpc.aio

from tamis.broker.access import (
    CHANNEL_OPTIONS,
    LINK,
    SERVER_OPTIONS,
    SERVICE,
    Access,
    AccessError,
    is_loopback,
    require_free,
    split_address,
)
from tamis.broker.broker import Broker, Output, Role, status_of
from tamis.broker.store import BrokerStoreError

_logger: Final = logging.getLogger("tamis.broker")

_TICK: Final = 1.0
_FIRST_DELAY: Final = 0.2
_LONGEST_DELAY: Final = 15.0
_UNHANDLED: Final = 8  # messages of one stream that wait for the state machine
_GRACE: Final = 2.0


@dataclass(slots=True)
class _Stream:
    """Connection: the queue of bytes to send over it; None ends it."""

    number: int
    outgoing: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_UNHANDLED))

    async def messages(self) -> AsyncIterator[bytes]:
        while (data := await self.outgoing.get()) is not None:
            yield data


class BrokerProcess:
    """Runs a broker: listens for neighbours and clients, dials neighbours and redials those that are away.

    The state machine works on a thread of its own, a handful of messages at a time and one commit for all of them;
    what follows from them is sent when they are on disk. A process that cannot write its state ends with that error:
    what it did not say, others say again to the next one.
    """

    def __init__(
        self,
        broker: Broker,
        listen: str | None,
        links: Sequence[str] = (),
        access: Access | None = None,
        client_access: Access | None = None,
    ) -> None:
        self.broker = broker
        self.address: str | None = None
        self._listen = listen
        self._links = list(links)
        self._access = access or Access()
        self._client_access = client_access or self._access
        self._streams: dict[int, _Stream] = {}
        self._numbers = 0
        self._inputs: list[Callable[[], None]] = []
        self._handled: list[Callable[[], None]] = []
        self._woken = asyncio.Event()
        self._stopped = asyncio.Event()
        self._local: set[asyncio.Task[None]] = set()
        self._core = ThreadPoolExecutor(1, thread_name_prefix="tamis-broker")
        self._state = threading.Lock()
        self._ended = False
        self._failure: BaseException | None = None
        if listen is not None and not is_loopback(listen) and self._access.token is None:
            raise AccessError(f"{listen} can be reached by others: --token-file says what they must show")
        if listen is not None:
            require_free(listen)
        for link in links:
            split_address(link)

    async def run(self, ready: Callable[[str | None], None] = lambda address: None) -> None:
        """Runs until `stop`; `ready` is called with the address that is listened at."""
        server = await self._serve() if self._listen is not None else None
        tasks = [asyncio.create_task(self._work()), asyncio.create_task(self._keep_time())]
        tasks += [asyncio.create_task(self._keep_linked(address)) for address in self._links]
        self._loop = asyncio.get_running_loop()
        ready(self.address)
        try:
            await self._stopped.wait()
        finally:
            for stream in self._streams.values():
                stream.outgoing.put_nowait(None)
            if server is not None:
                await server.stop(_GRACE)
            await asyncio.gather(*self._local, return_exceptions=True)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._core.shutdown()
            with self._state:
                self._ended = True
                self.broker.store.close()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Ends `run`; to be called from its event loop."""
        self._stopped.set()

    def stop_soon(self) -> None:
        """Ends `run`; to be called from another thread."""
        self._loop.call_soon_threadsafe(self.stop)

    def status(self) -> dict[str, Any]:
        """Status of the broker, from any thread; BrokerStoreError if it has ended."""
        with self._state:
            if self._ended:
                raise BrokerStoreError("the broker has ended")
            return status_of(self.broker)

    # The state machine.

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._woken.wait()
                self._woken.clear()
                inputs, self._inputs = self._inputs, []
                handled, self._handled = self._handled, []
                outputs = await loop.run_in_executor(self._core, self._handle, inputs)
                for done in handled:
                    done()
                for number, output in outputs.items():
                    self._send(number, output)
        except Exception as error:
            _logger.exception("the broker cannot go on")
            self._failure = error
            self.stop()

    def _handle(self, inputs: list[Callable[[], None]]) -> dict[int, Output]:
        with self._state:
            for each in inputs:
                each()
            return self.broker.commit()

    def _send(self, number: int, output: Output) -> None:
        stream = self._streams.get(number)
        if stream is None:
            return
        for data in output.messages:
            stream.outgoing.put_nowait(data)
        if output.close is not None:
            stream.outgoing.put_nowait(None)

    def _submit(self, work: Callable[[], None], done: Callable[[], None] | None = None) -> None:
        self._inputs.append(work)
        if done is not None:
            self._handled.append(done)
        self._woken.set()

    async def _keep_time(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            self._submit(lambda: self.broker.tick(monotonic()))

    # Streams: messages in and out of the state machine.

    def _open(self, role: Role, dialled: str | None = None) -> _Stream:
        self._numbers += 1
        number = self._numbers
        self._streams[number] = stream = _Stream(number)
        self._submit(lambda: self.broker.connect(number, role, dialled))
        return stream

    async def _read(self, stream: _Stream, incoming: AsyncIterator[bytes]) -> None:
        """Passes messages to the state machine, as fast as it takes them, and ends the stream after the last."""
        try:
            async for data in incoming:
                await self._hear(stream, data)
        finally:
            stream.outgoing.put_nowait(None)

    def _close(self, stream: _Stream) -> None:
        if self._streams.pop(stream.number, None) is not None:
            self._submit(lambda: self.broker.disconnect(stream.number))

    def speak(self, outgoing: Iterator[bytes]) -> Iterator[bytes]:
        """Stream of a client in this process, on a thread of its own: its messages in, the broker's out."""
        told: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        stream = asyncio.run_coroutine_threadsafe(self._open_here(told), self._loop).result()

        def hear() -> None:
            with contextlib.suppress(RuntimeError):  # the process has ended
                for data in outgoing:
                    asyncio.run_coroutine_threadsafe(self._hear(stream, data), self._loop).result()
                self._loop.call_soon_threadsafe(stream.outgoing.put_nowait, None)

        threading.Thread(target=hear, name="tamis-broker-client", daemon=True).start()
        yield from iter(told.get, None)

    async def _open_here(self, told: queue.SimpleQueue[bytes | None]) -> _Stream:
        if self._stopped.is_set():
            told.put(None)  # nobody is left to hear it
            return _Stream(0)
        stream = self._open("client")

        async def tell() -> None:
            async for data in stream.messages():
                told.put(data)
            told.put(None)
            self._close(stream)

        self._local.add(task := asyncio.create_task(tell()))
        task.add_done_callback(self._local.discard)
        return stream

    async def _hear(self, stream: _Stream, data: bytes) -> None:
        await stream.room.acquire()
        self._submit(_received(self.broker, stream.number, data), stream.room.release)

    # Incoming connections.

    async def _serve(self) -> Any:
        server = grpc.aio.server(options=SERVER_OPTIONS)
        handlers = {
            "Link": grpc.stream_stream_rpc_method_handler(self._take_link),
            "Attach": grpc.stream_stream_rpc_method_handler(self._take_client),
            "Status": grpc.unary_unary_rpc_method_handler(self._tell_status),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        assert self._listen is not None
        host, port = split_address(self._listen)
        credentials = self._access.server_credentials()
        try:
            if credentials is None:
                found = server.add_insecure_port(self._listen)
            else:
                found = server.add_secure_port(self._listen, credentials)
        except RuntimeError as error:
            raise AccessError(f"cannot listen at {self._listen}: {error}") from error
        if not found:
            raise AccessError(f"cannot listen at {host}, port {port}: it is taken, or no address of this machine")
        self.address = f"{self._listen.rpartition(':')[0]}:{found}"
        await server.start()
        return server

    async def _take_link(self, incoming: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async for data in self._take("link", self._access, incoming, context):
            yield data

    async def _take_client(self, incoming: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async for data in self._take("client", self._client_access, incoming, context):
            yield data

    async def _take(
        self, role: Role, access: Access, incoming: AsyncIterator[bytes], context: Any
    ) -> AsyncIterator[bytes]:
        await _require(access, context)
        stream = self._open(role)
        reading = asyncio.create_task(self._read(stream, incoming))
        try:
            async for data in stream.messages():
                yield data
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, grpc.RpcError):
                await reading
            self._close(stream)

    async def _tell_status(self, request: bytes, context: Any) -> bytes:
        await _require(self._client_access, context)
        told = await asyncio.get_running_loop().run_in_executor(None, self.status)
        return json.dumps(told).encode()

    # Outgoing connections.

    async def _keep_linked(self, address: str) -> None:
        """Dials a neighbour, and redials with growing backoff whenever the connection is gone."""
        delay, told = _FIRST_DELAY, False
        while True:
            reason = "it ended"
            began = monotonic()
            try:
                await self._dial(address)
            except (grpc.RpcError, TimeoutError) as error:
                reason = _reason(error)
            except Exception:  # whatever it was, the link is not given up for it
                _logger.exception("%s: the connection to %s", self.broker.name, address)
            if monotonic() - began > 2 * _LONGEST_DELAY:
                delay, told = _FIRST_DELAY, False
            level = logging.INFO if told else logging.WARNING
            _logger.log(level, "%s: no connection to %s (%s); called again", self.broker.name, address, reason)
            told = True
            # Not all of a broker's neighbours come back at the same moment.
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))
            delay = min(2 * delay, _LONGEST_DELAY)

    async def _dial(self, address: str) -> None:
        credentials = self._access.channel_credentials()
        if credentials is None:
            channel = grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)
        else:
            channel = grpc.aio.secure_channel(address, credentials, options=CHANNEL_OPTIONS)
        async with channel:
            await asyncio.wait_for(channel.channel_ready(), _LONGEST_DELAY)
            stream = self._open("link", address)
            try:
                call = channel.stream_stream(LINK)(stream.messages(), metadata=self._access.metadata())
                await self._read(stream, call)
            finally:
                self._close(stream)


def _received(broker: Broker, number: int, data: bytes) -> Callable[[], None]:
    return lambda: broker.receive(number, data)


async def _require(access: Access, context: Any) -> None:
    if not access.admits(context.invocation_metadata()):
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, "show the broker's token: --token-file")


def _reason(error: Any) -> str:
    return str(error.details() if hasattr(error, "details") else error) or "no answer"
