"""`tamis broker status`: a broker's links and what each carries."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Column

from tamis.cli.base.parted_table import PartedTable
from tamis.cli.base.terminal import out
from tamis.cli.broker.options import (
    DEFAULT_ADDRESS,
    AtOption,
    AuthorityOption,
    CertificateOption,
    KeyOption,
    TokenOption,
    access_of,
)


def status(
    at: AtOption = DEFAULT_ADDRESS,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
    token: TokenOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    authority: AuthorityOption = None,
) -> None:
    """Show a broker's links and clients: filters, events, bytes, and what waits.

    \b
    [bold]Examples[/bold]
      tamis broker status
      tamis broker status --at broker:7070 --token-file token --tls-ca ca.pem --json
    """
    access = access_of(token, certificate, key, authority)
    from tamis.broker.calling import ask_status

    told = ask_status(at, access)
    if as_json:
        typer.echo(json.dumps(told))
        return
    out.print(f"[bold]{told['name']}[/bold], {told['policy']} routing, dead letters {told['dead_letters']:,}")
    for table in (_links(told["links"]), _clients(told["clients"])):
        out.print()
        out.print(table)


def _links(links: list[dict[str, Any]]) -> PartedTable:
    table = PartedTable(
        Column("link", no_wrap=True), "state", "in use",
        *_headings("filters in", "filters out", "events in", "events out", "kB in", "kB out", "waiting"),
    )  # fmt: skip
    for each in links:
        table.add_row(
            each["name"],
            each["state"],
            "yes" if each["in_use"] else "no",
            *_numbers(each["subscriptions_in"], each["subscriptions_out"], each["events_in"], each["events_out"]),
            *_numbers(each["bytes_in"] // 1000, each["bytes_out"] // 1000, each["queue_events"]),
        )
    return table


def _clients(clients: list[dict[str, Any]]) -> PartedTable:
    counted = _headings("subscriptions", "advertisements", "published", "delivered", "waiting")
    table = PartedTable(Column("client", no_wrap=True), "attached", *counted)
    for each in clients:
        numbers = (each["subscriptions"], each["advertisements"], each["events_in"], each["events_out"])
        table.add_row(each["name"], "yes" if each["attached"] else "no", *_numbers(*numbers, each["queue_events"]))
    return table


def _headings(*headings: str) -> list[Column]:
    return [Column(heading, justify="right") for heading in headings]


def _numbers(*numbers: int) -> list[str]:
    return [f"{number:,}" for number in numbers]
