"""The options by which commands reach a broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.failures import CommandError

if TYPE_CHECKING:
    from tamis.broker.access import Access

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
