"""A crowd of readers of server-sent events, who count what reaches them: one event loop serves a thousand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

_DATA = b"\ndata: "
_AT_ONCE = 50  # readers that connect together


@dataclass(frozen=True)
class Reading:
    """One reader: the subscription, its ticket, and how many notifications are to come."""

    subscription: str
    ticket: str
    expected: int


class Crowd:
    """Readers who are connected; `complete` returns when each has as many notifications as it expects.

    A reader that is refused, hung up on, or notified more often than it expects, is an error.
    """

    def __init__(self, port: int, readings: Mapping[int, Reading]) -> None:
        self.missing = sum(reading.expected for reading in readings.values())
        self._port = port
        self._readers = [_Reader(self, reading) for reading in readings.values()]
        self._complete: asyncio.Future[None] | None = None

    async def connect(self) -> None:
        """Connects all, some at a time; each is at the newest notification when this returns."""
        loop = asyncio.get_running_loop()
        self._complete = loop.create_future()
        for start in range(0, len(self._readers), _AT_ONCE):
            chosen = self._readers[start : start + _AT_ONCE]
            for reader in chosen:
                reader.connected = loop.create_future()
                await loop.create_connection(lambda reader=reader: reader, "127.0.0.1", self._port)  # type: ignore[misc]
            await asyncio.gather(*(reader.connected for reader in chosen if reader.connected is not None))
        self.arrived(0)

    async def complete(self) -> None:
        if self._complete is None:
            raise RuntimeError("nobody is connected")
        await self._complete

    def close(self) -> None:
        for reader in self._readers:
            reader.close()

    def arrived(self, count: int) -> None:
        self.missing -= count
        if self.missing == 0 and self._complete is not None and not self._complete.done():
            self._complete.set_result(None)

    def failed(self, why: str) -> None:
        if self._complete is not None and not self._complete.done():
            self._complete.set_exception(RuntimeError(why))


class _Reader(asyncio.Protocol):
    """One connection. `_rest` is the head as far as it has come, and then the last bytes, which may begin a mark."""

    def __init__(self, crowd: Crowd, reading: Reading) -> None:
        self.connected: asyncio.Future[None] | None = None
        self._crowd, self._reading = crowd, reading
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._seen = 0
        self._streaming = self._closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        path = f"/v1/subscriptions/{self._reading.subscription}/stream?cursor=latest"
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nTamis-Ticket: {self._reading.ticket}\r\n\r\n"
        transport.write(head.encode())

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        if not self._streaming:
            head, end, data = data.partition(b"\r\n\r\n")
            if not end:
                self._rest = head
                return
            self._streaming = True
            self._answered(head)
        count = data.count(_DATA)
        self._rest = data[1 - len(_DATA) :]
        if count:
            self._seen += count
            if self._seen > self._reading.expected:
                self._crowd.failed(
                    f"{self._reading.subscription} was notified more than {self._reading.expected} times"
                )
            self._crowd.arrived(count)

    def _answered(self, head: bytes) -> None:
        if self.connected is None or self.connected.done():
            return
        if head.startswith(b"HTTP/1.1 200"):
            self.connected.set_result(None)
        else:
            self.connected.set_exception(RuntimeError(f"a stream was refused: {head[:200]!r}"))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._closed:
            why = f"the stream of {self._reading.subscription} ended"
            self._crowd.failed(why)
            if self.connected is not None and not self.connected.done():
                self.connected.set_exception(RuntimeError(why))

    def close(self) -> None:
        self._closed = True
        if self._transport is not None:
            self._transport.close()
