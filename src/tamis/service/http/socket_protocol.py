"""The WebSocket protocol of the server: what strangers say over it, or are refused, leaves nothing in the log."""

from __future__ import annotations

import logging
from typing import Any, Final

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

_LOG: Final = logging.getLogger("tamis.service.sockets")
# Uvicorn notes each socket with its query, which may hold a key or a ticket.
_LOG.setLevel(logging.WARNING)

_NO_TEXT: Final = 1007  # the close code for bytes that are no UTF-8


class SocketProtocol(WebSocketsSansIOProtocol):
    """Uvicorn's protocol, which by itself takes a refusal for a fault of the application, and bad text for its own."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.logger = _LOG

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            # The handshake ended with the refusal. Uvicorn would still wait for its end, and complain.
            self.handshake_complete = True

    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text" and not self.close_sent:
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self.frames = []
                self.conn.send_close(_NO_TEXT)
                self.handle_parser_exception()
                return
        super().send_receive_event_to_app()
