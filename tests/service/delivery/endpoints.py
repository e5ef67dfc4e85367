"""HTTP servers on this machine that answer as a test wants."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = Callable[["Request", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Request:
    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """`requests` has what came; `connections` how many connections there were."""

    port: int = 0
    connections: int = 0
    requests: list[Request] = field(default_factory=list)

    def url(self, host: str = "127.0.0.1", path: str = "/hook", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


def saying(status: int, body: bytes = b"", **headers: str) -> Answer:
    """Answers always the same."""
    lines = [f"HTTP/1.1 {status} As told", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()

    return answer


@asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server()
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        mine = asyncio.current_task()
        assert mine is not None
        tasks.add(mine)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {
                    name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])
                }
                request = Request(head[0], headers, await reader.readexactly(int(headers.get("content-length", 0))))
                server.requests.append(request)
                await answer(request, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
