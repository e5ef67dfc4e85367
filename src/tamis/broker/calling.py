"""How a broker is called from outside: over a channel, which may have nobody at its other end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import grpc

from tamis.broker.access import Access, split_address
from tamis.broker.wire import ATTACH, CHANNEL_OPTIONS, STATUS
from tamis.errors import TamisError


class BrokerRefusal(TamisError):  # noqa: N818 - reads as what happened
    """The broker does not do what it was asked; `refused` says of which ids, or rows, it did not, and why."""

    def __init__(self, message: str, refused: Mapping[str, str] | None = None) -> None:
        super().__init__(message, dict(refused or {}))
        self.message = message
        self.refused = dict(refused or {})

    def __str__(self) -> str:
        return self.message


class BrokerAway(TamisError):  # noqa: N818 - reads as what happened
    """No answer came in time. What was asked for is asked for again when the broker is back, until the client ends."""


def attached_stream(address: str, access: Access, outgoing: Iterator[bytes]) -> Iterator[bytes]:
    """A client's messages in, the broker's out, as long as there is a connection."""
    with open_channel(address, access) as channel:
        yield from channel.stream_stream(ATTACH)(outgoing, metadata=access.metadata())


def ask_status(address: str, access: Access | None = None, timeout: float = 10.0) -> dict[str, Any]:
    """How the broker at an address does."""
    shown = access or Access()
    split_address(address)
    try:
        with open_channel(address, shown) as channel:
            told = channel.unary_unary(STATUS)(b"", metadata=shown.metadata(), timeout=timeout)
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            raise BrokerRefusal(f"what answers at {address} is no broker ({error.details()})") from error
        raise BrokerAway(f"the broker at {address} does not answer, is it running? ({error.details()})") from error
    status: dict[str, Any] = json.loads(told)
    return status


def open_channel(address: str, access: Access) -> Any:
    """A gRPC channel, encrypted if certificates are given."""
    credentials = access.channel_credentials()
    if credentials is None:
        return grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
    return grpc.secure_channel(address, credentials, options=CHANNEL_OPTIONS)
