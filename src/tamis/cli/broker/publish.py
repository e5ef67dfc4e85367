"""`tamis broker publish`: events from files to a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tamis.cli.base.failures import PARTLY_REFUSED
from tamis.cli.base.options import DeadLettersOption, EventsArgument
from tamis.cli.base.terminal import remark, warn
from tamis.cli.broker.options import (
    DEFAULT_ADDRESS,
    AtOption,
    AuthorityOption,
    CertificateOption,
    KeyOption,
    NameOption,
    TokenOption,
    access_of,
    attached_client,
)


def publish(
    events: EventsArgument,
    name: NameOption,
    schema: Annotated[
        Path, typer.Option("--schema", "-s", metavar="FILE", help="The schema, in YAML.", show_default=False)
    ],
    at: AtOption = DEFAULT_ADDRESS,
    advertise: Annotated[
        str, typer.Option("--advertise", metavar="FILTER", help="What all of the events satisfy.")
    ] = "TRUE",
    batch_rows: Annotated[int, typer.Option("--batch-rows", min=1, help="Events sent at a time.")] = 5_000,
    dead_letters_to: DeadLettersOption = None,
    token: TokenOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    authority: AuthorityOption = None,
) -> None:
    """Publish events from files. Each batch is safe with the broker before the next is sent.

    What is advertised stays so, for the next time. Events that break the schema are dead letters, with the reason.

    \b
    [bold]Examples[/bold]
      tamis broker publish events.jsonl --name shop --schema auctions.yaml
      tail -f sales.jsonl | tamis broker publish - --name till --schema auctions.yaml --advertise "price < 1000"

    \b
    [bold]Exit codes[/bold]
      0  all published
      1  published, but some events were refused
      2  not done
    """
    access = access_of(token, certificate, key, authority)
    from tamis.broker.calling import BrokerRefusal
    from tamis.cli.work.dead_letters import dead_letters
    from tamis.cli.work.events import EventFiles
    from tamis.schema import Schema

    under, taken, refused = Schema.load(schema), 0, 0
    with attached_client(at, name, access) as client, dead_letters(dead_letters_to) as dead:
        held = client.attached().advertisements
        if held.get("cli") is not None:
            client.unadvertise(["cli"])
        client.advertise({"cli": advertise}, settle=True)
        for batch in EventFiles(events).batches(under, batch_rows):
            dead.put(batch.dead)
            if batch.valid.num_rows:
                try:
                    taken += client.publish(batch.valid)
                except BrokerRefusal as refusal:
                    if not refusal.refused:
                        raise
                    refused += len(refusal.refused)
                    taken += batch.valid.num_rows - len(refusal.refused)
                    warn(str(refusal))
    refused += dead.events
    remark(f"{taken:,} events published" + (f", {refused:,} refused" if refused else ""))
    if refused:
        raise typer.Exit(PARTLY_REFUSED)
