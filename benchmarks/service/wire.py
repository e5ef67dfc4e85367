"""The least HTTP that a load needs: the machine's two cores are the server's, so far as that can be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import orjson


class Publisher:
    """One kept connection that posts bodies and waits for each answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, body: bytes, kind: bytes = b"application/json") -> int:
        """The status of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(
            b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
            + kind
            + b"\r\nContent-Length: %d\r\n\r\n" % len(body)
            + body
        )
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
        await reader.readexactly(length)
        return int(head[9:12])

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


async def read_stream(
    port: int, path: str, ticket: str, seen: Callable[[float, dict[str, object]], None], connected: asyncio.Semaphore
) -> None:
    """Follows an event stream until cancelled; `seen` gets the moment and the notification."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nTamis-Ticket: {ticket}\r\n\r\n".encode())
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the stream was refused: {head[:200]!r}")
    connected.release()
    try:
        while line := await reader.readline():
            if line.startswith(b"data:"):
                seen(time.time(), orjson.loads(line[5:]))
    finally:
        writer.close()
