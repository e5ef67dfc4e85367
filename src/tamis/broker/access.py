"""Access to brokers: tokens and TLS certificates, addresses, gRPC channels with their settings, and errors of calls."""

from __future__ import annotations

import errno
import hmac
import json
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import grpc

from tamis.errors import TamisError

_HEADER: Final = "authorization"
_SCHEME: Final = "Bearer "
_SHORTEST: Final = 16
_LOCAL_NAMES: Final = ("localhost", "ip6-localhost")


class AccessError(TamisError):
    """Token, certificate or address that cannot be used."""


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials that this end shows, and those that it requires. Nothing of it is ever logged.

    With `certificate` and `key` connections are encrypted; with `authority` the other end must show a certificate that
    this authority has signed, and whoever dials must too.
    """

    token: str | None = field(default=None, repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    authority: bytes | None = field(default=None, repr=False)

    @classmethod
    def read(
        cls,
        token: Path | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        authority: Path | None = None,
    ) -> Access:
        """Reads credentials from files; AccessError says which is missing or unusable."""
        if (certificate is None) != (key is None):
            raise AccessError("a certificate and its key go together: give both, or neither")
        secret = None if token is None else _read(token).decode("utf-8", "replace").strip()
        if secret is not None and (len(secret) < _SHORTEST or not secret.isascii() or not secret.isprintable()):
            raise AccessError(f"{token} holds no token: a line of at least {_SHORTEST} printable characters")
        return cls(secret, *(None if path is None else _read(path) for path in (certificate, key, authority)))

    @property
    def is_encrypted(self) -> bool:
        return self.certificate is not None or self.authority is not None

    def admits(self, metadata: Iterable[tuple[str, str | bytes]] | None) -> bool:
        """True if the caller has shown the token; takes equally long whatever they have shown."""
        if self.token is None:
            return True
        shown = dict(metadata or ()).get(_HEADER, "")
        given = shown if isinstance(shown, bytes) else shown.encode("utf-8", "replace")
        return hmac.compare_digest(given, (_SCHEME + self.token).encode())

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """gRPC metadata of a call."""
        return () if self.token is None else ((_HEADER, _SCHEME + self.token),)

    def server_credentials(self) -> Any | None:
        """gRPC credentials of a server; None: not encrypted."""
        if self.certificate is None or self.key is None:
            return None
        pairs = [(self.key, self.certificate)]
        return grpc.ssl_server_credentials(pairs, self.authority, require_client_auth=self.authority is not None)

    def channel_credentials(self) -> Any | None:
        """gRPC credentials of a channel; None: not encrypted."""
        if not self.is_encrypted:
            return None
        return grpc.ssl_channel_credentials(self.authority, self.key, self.certificate)


def is_loopback(address: str) -> bool:
    """True if only programs of this machine reach an address HOST:PORT."""
    host = split_address(address)[0]
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _LOCAL_NAMES


def split_address(address: str) -> tuple[str, int]:
    """Host and port of HOST:PORT, with brackets around an IPv6 host."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise AccessError(f"{address!r} is no address: say HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def require_free(address: str) -> None:
    """Raises AccessError if the address HOST:PORT cannot be listened at; gRPC's own error does not say why."""
    host, port = split_address(address)
    try:
        family, kind, protocol, _, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(found)
            trial.listen()
    except (OSError, UnicodeError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "the port is taken; choose another" if taken else getattr(error, "strerror", None) or error
        raise AccessError(f"cannot listen at {address}: {reason}") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise AccessError(f"cannot read {path}: {error.strerror}") from error


# gRPC channels to a broker: the names and settings that both ends share, and the errors of calls.

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
# Reconnecting is left to BrokerProcess and BrokerClient, so gRPC's own backoff is short.
CHANNEL_OPTIONS: Final = [*_COMMON, ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.use_local_subchannel_pool", 1)]


class BrokerRefusal(TamisError):  # noqa: N818 - reads as what happened
    """Refusal of a request by the broker; `refused` gives the reason for each id, or row."""

    def __init__(self, message: str, refused: Mapping[str, str] | None = None) -> None:
        super().__init__(message, dict(refused or {}))
        self.message = message
        self.refused = dict(refused or {})

    def __str__(self) -> str:
        return self.message


class BrokerAway(TamisError):  # noqa: N818 - reads as what happened
    """No answer in time. The request is repeated when the broker is back, until the client ends."""


def attached_stream(address: str, access: Access, outgoing: Iterator[bytes]) -> Iterator[bytes]:
    """Bidirectional stream of a client: its messages in, the broker's out, as long as the connection lasts."""
    with open_channel(address, access) as channel:
        yield from channel.stream_stream(ATTACH)(outgoing, metadata=access.metadata())


def ask_status(address: str, access: Access | None = None, timeout: float = 10.0) -> dict[str, Any]:
    """Status of the broker at an address."""
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
    """Opens a gRPC channel, encrypted if certificates are given."""
    credentials = access.channel_credentials()
    if credentials is None:
        return grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
    return grpc.secure_channel(address, credentials, options=CHANNEL_OPTIONS)
