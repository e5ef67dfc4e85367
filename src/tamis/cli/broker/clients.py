"""`tamis broker subscribe`, `publish` and `status`: clients of a broker, with their credentials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column

from tamis.cli.base.options import PARTLY_REFUSED, CommandError, DeadLettersOption, EventsArgument
from tamis.cli.base.terminal import PartedTable, out, remark, warn

if TYPE_CHECKING:
    from tamis.broker.access import Access
    from tamis.broker.client import BrokerClient

_PATIENCE = 30.0  # seconds: a broker that starts at the same time, or anew, is there by then
_SILENCE = 1.0  # seconds in which most brokers have answered, and nothing need be said

DEFAULT_ADDRESS = "127.0.0.1:7070"

AtOption = Annotated[str, typer.Option("--at", metavar="HOST:PORT", help="Address of the broker.")]
NameOption = Annotated[
    str,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Client name, under which the broker keeps subscriptions and queued events.",
        show_default=False,
    ),
]
TokenOption = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="Shared token, checked in both directions.", show_default=False),
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
        "--tls-ca",
        metavar="FILE",
        help="Certificate authority of the other end's certificate, in PEM.",
        show_default=False,
    ),
]


def access_of(token: Path | None, certificate: Path | None, key: Path | None, authority: Path | None) -> Access:
    """Credentials by the options; tells how to install gRPC where it is missing."""
    try:
        from tamis.broker.access import Access
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "tamis":
            raise
        raise CommandError(f"brokers need {error.name}: pip install 'tamis[broker]'") from error
    return Access.read(token, certificate, key, authority)


@contextmanager
def attached_client(at: str, name: str, access: Access) -> Iterator[BrokerClient]:
    """Client that the broker has answered. The wait is announced: silence looks like a fault."""
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


def publish(
    events: EventsArgument,
    name: NameOption,
    schema: Annotated[
        Path, typer.Option("--schema", "-s", metavar="FILE", help="The schema, in YAML.", show_default=False)
    ],
    at: AtOption = DEFAULT_ADDRESS,
    advertise: Annotated[
        str, typer.Option("--advertise", metavar="FILTER", help="Filter that all of the events satisfy.")
    ] = "TRUE",
    batch_rows: Annotated[int, typer.Option("--batch-rows", min=1, help="Events sent at a time.")] = 5_000,
    dead_letters_to: DeadLettersOption = None,
    token: TokenOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    authority: AuthorityOption = None,
) -> None:
    """Publish events from files. Each batch is durable at the broker before the next is sent.

    Advertisements stay in force for the next time. Events that break the schema are dead letters, with the reason.

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
    from tamis.broker.access import BrokerRefusal
    from tamis.cli.work.events import EventFiles
    from tamis.cli.work.tables import dead_letters
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


def subscribe(
    filters: Annotated[list[str], typer.Argument(metavar="FILTER...", help="Filters.", show_default=False)],
    name: NameOption,
    at: AtOption = DEFAULT_ADDRESS,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="Stop after this many events.", show_default=False)
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the subscriptions at the end; new events are queued for this name."),
    ] = False,
    token: TokenOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    authority: AuthorityOption = None,
) -> None:
    """Print the events that satisfy one of the filters, whichever broker of the network they are published at.

    One JSON object a line: the event, and under `filters` the places of the filters that it satisfies, from 1.

    \b
    [bold]Examples[/bold]
      tamis broker subscribe "price < 100" "title ILIKE '%clock%'" --name ann
      tamis broker subscribe TRUE --name log --at broker:7070 --token-file token --tls-ca ca.pem --keep
    """
    access = access_of(token, certificate, key, authority)
    from tamis.cli.work.tables import json_rows

    wanted = {str(place): text for place, text in enumerate(filters, 1)}
    seen = 0
    with attached_client(at, name, access) as client:
        held = client.attached().subscriptions
        client.unsubscribe([id for id in held if held[id] != wanted.get(id)])
        client.subscribe(wanted)
        remark(f"subscribed at {client.attached().broker}")
        try:
            for delivered in client.deliveries():
                for row, ids in zip(json_rows(delivered.events), delivered.subscriptions.to_pylist(), strict=True):
                    typer.echo(
                        json.dumps({"event": json.loads(row), "filters": sorted(map(int, ids))}, ensure_ascii=False)
                    )
                    seen += 1
                if count is not None and seen >= count:
                    break
        except KeyboardInterrupt:
            pass
        if not keep:
            client.leave()


def status(
    at: AtOption = DEFAULT_ADDRESS,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
    token: TokenOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    authority: AuthorityOption = None,
) -> None:
    """Show a broker's links and clients: filters, events, bytes, and queued events.

    \b
    [bold]Examples[/bold]
      tamis broker status
      tamis broker status --at broker:7070 --token-file token --tls-ca ca.pem --json
    """
    access = access_of(token, certificate, key, authority)
    from tamis.broker.access import ask_status

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
