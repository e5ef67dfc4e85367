"""How large and how slow the head of a request may be: its first line and its headers; and what nobody reads of it."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_REFUSAL: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/problem+json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
)
_DETAIL: Final = (
    b'{"type":"urn:tamis:problem:too-large","title":"Request Header Fields Too Large","status":431,'
    b'"detail":"the first line and the headers are longer than a server has to read","errors":[]}'
)


class HeadLimit(HttpToolsProtocol):
    """Uvicorn's protocol, which by itself waits for a head for ever, and keeps as much of one as is sent.

    `_kept` counts what came since the last byte of a body was handed on, or a head was complete: the parser holds all
    of it. What follows a chunked body (trailers) counts like a head.

    An answer may be given before the body is there: to a path that does not exist, without a key. What is left of the
    body is then read by nobody, and has to come, with the head of the next request, in the time that a head has.
    """

    most_bytes: ClassVar[int] = 64 << 10
    seconds: ClassVar[float] = 20.0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._kept = 0
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        self._kept += len(data)
        super().data_received(data)
        if self._kept > self.most_bytes and not self.transport.is_closing():
            self.transport.write(_REFUSAL % (len(_DETAIL), _DETAIL))
            self.transport.close()

    def on_message_begin(self) -> None:
        self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._kept = 0
        self._end_wait()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._kept = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._kept = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            # The time that uvicorn gives an idle connection ends with its next byte, and would not begin again.
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(self.seconds, self.transport.close)

    def _end_wait(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
