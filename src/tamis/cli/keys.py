"""`tamis keys`: creates, lists and revokes the API keys of a server, in its store."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Column
from rich.text import Text

from tamis.cli.base.options import CommandError, StateOption, StoreOption, opened_store
from tamis.cli.base.terminal import PartedTable, out, remark

keys = typer.Typer(
    name="keys",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""API keys: who may publish, subscribe and administer.

    \b
    [bold]Examples[/bold]
      tamis keys create gallery --role publish --role subscribe
      tamis keys list
      tamis keys revoke 0123456789abcdef
    """,
)


class RoleName(StrEnum):
    """Role of a key: publish, subscribe or administer."""

    publish = "publish"
    subscribe = "subscribe"
    administer = "administer"


@keys.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of its owner.", show_default=False)],
    roles: Annotated[
        list[RoleName],
        typer.Option("--role", "-r", help="Role of the key. May be given several times.", show_default=False),
    ],
    state: StateOption = None,
    store: StoreOption = None,
) -> None:
    """Create a key. Its secret goes to standard output, this once: the store keeps only a hash.

    \b
    [bold]Examples[/bold]
      tamis keys create gallery --role publish --role subscribe
      tamis keys create operator -r administer --store postgresql+psycopg://tamis@db/tamis > operator.key
    """
    with opened_store(state, store) as opened:
        key, secret = opened.keys.create(name, [role.value for role in roles])
    remark(f"key {key.id} for {name} ({', '.join(sorted(key.roles))}); keep this, it is not shown again:")
    typer.echo(secret)


@keys.command("list")
def list_keys(state: StateOption = None, store: StoreOption = None) -> None:
    """List all keys, without their secrets.

    \b
    [bold]Examples[/bold]
      tamis keys list
      tamis keys list --state /var/lib/tamis
    """
    with opened_store(state, store) as opened:
        found = opened.keys.list()
    times = (Column(heading, no_wrap=True) for heading in ("created", "revoked"))
    table = PartedTable(Column("id", no_wrap=True), "name", "roles", *times)
    for key in found:
        revoked = "" if key.revoked is None else f"{key.revoked:%Y-%m-%d %H:%M}"
        table.add_row(key.id, Text(key.name), ", ".join(sorted(key.roles)), f"{key.created:%Y-%m-%d %H:%M}", revoked)
    out.print(table)


@keys.command()
def revoke(
    id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the key, as tamis keys list shows it.", show_default=False)
    ],
    state: StateOption = None,
    store: StoreOption = None,
) -> None:
    """Revoke a key: from now on it grants nothing, and its subscriptions are paused.

    \b
    [bold]Examples[/bold]
      tamis keys revoke 0123456789abcdef
    """
    with opened_store(state, store) as opened:
        paused = opened.keys.revoke(id)
    if paused is None:
        raise CommandError(f"there is no key {id}, or it was revoked before")
    remark(f"key {id} is revoked; active subscriptions of it, paused from now on: {paused:,}")
    if paused:
        remark(f"GET /v1/subscriptions?owner={id} shows them: an administrator resumes, cancels or gives them away")
