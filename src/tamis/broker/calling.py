"""Calls to a broker from outside: the gRPC channel, and what is said when nobody answers at its other end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import grpc

from tamis.broker.access import Access, split_address
from tamis.errors import TamisError

# The names and settings that both ends of a gRPC connection share.

SERVICE: Final = "tamis.Broker"
LINK: Final = f"/{SERVICE}/Link"
ATTACH: Final = f"/{SERVICE}/Attach"
STATUS: Final = f"/{SERVICE}/Status"

MESSAGE_BYTES: Final = 64 << 20
"""The largest message that is taken."""

_COMMON: Final = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    # A neighbour whose machine is gone sends no farewell: asked whether it is there, it does not answer.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # This is what bounds the answer in newer gRPC; left out, it is a minute.
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]
SERVER_OPTIONS: Final = [
    *_COMMON,
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
]
# Connections are made anew by us, as soon as we like.
CHANNEL_OPTIONS: Final = [*_COMMON, ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.use_local_subchannel_pool", 1)]


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
    """Asks the broker at an address for its status."""
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
