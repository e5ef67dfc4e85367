"""Authentication of brokers and clients: tokens and certificates."""

from __future__ import annotations

import errno
import hmac
import socket
from collections.abc import Iterable
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
    """A token, a certificate or an address that cannot be used."""


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials that this end shows, and those that it asks for. Nothing of it is ever logged.

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
        """From files; AccessError says which is missing or cannot be."""
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
        """True if whoever calls has shown the token; takes as long whatever they have shown."""
        if self.token is None:
            return True
        shown = dict(metadata or ()).get(_HEADER, "")
        given = shown if isinstance(shown, bytes) else shown.encode("utf-8", "replace")
        return hmac.compare_digest(given, (_SCHEME + self.token).encode())

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Metadata of a call."""
        return () if self.token is None else ((_HEADER, _SCHEME + self.token),)

    def server_credentials(self) -> Any | None:
        """None: not encrypted."""
        if self.certificate is None or self.key is None:
            return None
        pairs = [(self.key, self.certificate)]
        return grpc.ssl_server_credentials(pairs, self.authority, require_client_auth=self.authority is not None)

    def channel_credentials(self) -> Any | None:
        """None: not encrypted."""
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
    """HOST:PORT, with brackets around an IPv6 host."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise AccessError(f"{address!r} is no address: say HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def require_free(address: str) -> None:
    """Complains where nobody can listen at an address HOST:PORT now; gRPC's own complaint does not say why."""
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
