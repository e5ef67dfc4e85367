"""How commands reach a broker: the options, and a client that says what it waits for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.base.failures import CommandError
from tamis.cli.base.terminal import remark

if TYPE_CHECKING:
    from tamis.broker.access import Access
    from tamis.broker.client import BrokerClient

_PATIENCE = 30.0  # seconds: a broker that starts at the same time, or anew, is there by then
_SILENCE = 1.0  # seconds in which most brokers have answered, and nothing need be said

DEFAULT_ADDRESS = "127.0.0.1:7070"

AtOption = Annotated[str, typer.Option("--at", metavar="HOST:PORT", help="Where the broker listens.")]
NameOption = Annotated[
    str,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Under which the broker keeps what is asked for and what waits.",
        show_default=False,
    ),
]
TokenOption = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="The token to show, and to be shown.", show_default=False),
]
CertificateOption = Annotated[
    Path | None,
    typer.Option("--tls-cert", metavar="FILE", help="This end's certificate, in PEM.", show_default=False),
]
KeyOption = Annotated[
    Path | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key, in PEM.", show_default=False)
]
AuthorityOption = Annotated[
    Path | None,
    typer.Option(
        "--tls-ca", metavar="FILE", help="Who must have signed the other end's certificate.", show_default=False
    ),
]


def access_of(token: Path | None, certificate: Path | None, key: Path | None, authority: Path | None) -> Access:
    """What the options say to show and to ask for; says what to install where gRPC is missing."""
    try:
        from tamis.broker.access import Access
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "tamis":
            raise
        raise CommandError(f"brokers need {error.name}: pip install 'tamis[broker]'") from error
    return Access.read(token, certificate, key, authority)


@contextmanager
def attached_client(at: str, name: str, access: Access) -> Iterator[BrokerClient]:
    """A client that the broker has answered. What it waits for is said meanwhile: silence looks like a fault."""
    from tamis.broker.client import BrokerClient

    with BrokerClient(at, name, access, timeout=_PATIENCE) as client:
        waiting = f"waiting up to {_PATIENCE:g} s for the broker at {at} ... (Ctrl-C gives up)"
        word = Timer(_SILENCE, remark, [waiting])
        word.daemon = True
        word.start()
        try:
            client.attached()
        finally:
            word.cancel()
        yield client
