"""`tamis broker --listen ... --link ...`: runs a broker until it is told to stop."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.base.options import CommandError
from tamis.cli.base.terminal import remark, warn
from tamis.cli.broker.clients import (
    DEFAULT_ADDRESS,
    AuthorityOption,
    CertificateOption,
    KeyOption,
    TokenOption,
    access_of,
)

if TYPE_CHECKING:
    from tamis.schema import Schema


class PolicyName(StrEnum):
    """Policy of forwarding: which subscriptions are forwarded to neighbours."""

    simple = "simple"
    covering = "covering"
    merging = "merging"


class OverflowName(StrEnum):
    """Policy for a full queue of a neighbour."""

    block = "block"
    drop = "drop"


def run(
    context: typer.Context,
    listen: Annotated[
        str,
        typer.Option(
            "--listen", metavar="HOST:PORT", help="Address for neighbours and clients to connect to; port 0: any."
        ),
    ] = DEFAULT_ADDRESS,
    links: Annotated[
        list[str] | None,
        typer.Option(
            "--link",
            metavar="HOST:PORT",
            help="Neighbour to connect to. May be given several times.",
            show_default=False,
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", "-s", metavar="FILE", help="The schema, in YAML.", show_default=False),
    ] = None,
    data: Annotated[Path, typer.Option("--data", metavar="FOLDER", help="State folder of the broker.")] = Path(
        "tamis-broker"
    ),
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="Unique name in the network.", show_default="drawn at the first start"
        ),
    ] = None,
    policy: Annotated[
        PolicyName, typer.Option("--policy", help="Policy of forwarding subscriptions to neighbours.")
    ] = PolicyName.covering,
    imt: Annotated[
        float,
        typer.Option(
            "--imt", min=0, max=1, help="With merging: the largest share of events that a merger may forward in vain."
        ),
    ] = 0.0,
    merge_every: Annotated[
        int, typer.Option("--merge-every", min=1, help="With merging: merge after this many changes of subscriptions.")
    ] = 100,
    token: TokenOption = None,
    client_token: Annotated[
        Path | None,
        typer.Option(
            "--client-token-file", metavar="FILE", help="Another token, valid for clients only.", show_default=False
        ),
    ] = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    authority: AuthorityOption = None,
    queue_events: Annotated[
        int, typer.Option("--queue-events", min=1, help="Queue limit per neighbour or client, in events.")
    ] = 1_000_000,
    queue_bytes: Annotated[
        int, typer.Option("--queue-bytes", min=1, help="Queue limit per neighbour or client, in bytes.")
    ] = 256 << 20,
    overflow: Annotated[
        OverflowName,
        typer.Option("--overflow", help="Full queue: publishers wait, or the oldest events become dead letters."),
    ] = OverflowName.block,
    for_services: Annotated[
        bool,
        typer.Option(
            "--for-services",
            help="Carry events between services.",
            show_default=False,
        ),
    ] = False,
    forget: Annotated[
        list[str] | None,
        typer.Option("--forget", metavar="NAME", help="Neighbour that will not come back.", show_default=False),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log connections.", show_default=False)] = False,
) -> None:
    """Run a broker: an event published at any broker of a network reaches the subscribers at all of them.

    All state is kept in one folder, and a broker restarted over it continues where it was. One end of a link connects
    to the other; lost connections are reopened, and no event published meanwhile is lost.

    \b
    [bold]Examples[/bold]
      tamis broker --schema auctions.yaml --listen 127.0.0.1:7070 --data one
      tamis broker --schema auctions.yaml --listen 127.0.0.1:7071 --data two --link 127.0.0.1:7070
      tamis broker subscribe "price < 100" --at 127.0.0.1:7071 --name ann
      tamis broker publish events.jsonl --at 127.0.0.1:7070 --name shop --schema auctions.yaml
      tamis broker status --at 127.0.0.1:7070

    \b
    [bold]Exit codes[/bold]
      0  stopped by Ctrl-C or SIGTERM
      2  could not start, or not go on
    """
    if context.invoked_subcommand is not None:
        return
    access = access_of(token, certificate, key, authority)
    if schema is None:
        raise CommandError("a broker needs a schema, the same as its neighbours': --schema FILE")
    import asyncio

    from tamis.broker.access import is_loopback
    from tamis.broker.broker import Broker, BrokerSettings, merging_of
    from tamis.broker.outbox import QueueBound
    from tamis.broker.process import BrokerProcess
    from tamis.broker.store import BrokerStore

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    if verbose:
        logging.getLogger("tamis").setLevel(logging.INFO)
    if not access.is_encrypted and not all(map(is_loopback, (listen, *(links or ())))):
        warn("connections to other machines are not encrypted; --tls-cert, --tls-key and --tls-ca encrypt them")
    merging = merging_of(imt, merge_every)
    settings = BrokerSettings(
        policy=policy.value,
        merging=merging,
        link_bound=QueueBound(queue_events, queue_bytes, overflow.value),
        client_bound=QueueBound(queue_events, queue_bytes, "drop"),
    )
    broker = Broker(_schema(schema, for_services), BrokerStore.open(data, name), settings)
    for gone in forget or ():
        broker.links.forget(gone)
    clients = access_of(client_token, certificate, key, authority) if client_token is not None else None
    asyncio.run(_serve(BrokerProcess(broker, listen, links or (), access, clients), data))


def _schema(file: Path, for_services: bool) -> Schema:
    from tamis.schema import Schema

    schema = Schema.load(file)
    if not for_services:
        return schema
    from tamis.service.base.offering import serving_schema
    from tamis.service.network import network_schema

    return network_schema(serving_schema(schema))


async def _serve(process: object, data: Path) -> None:
    import asyncio
    import signal

    from tamis.broker.process import BrokerProcess

    assert isinstance(process, BrokerProcess)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, process.stop)

    def ready(address: str | None) -> None:
        remark(f"broker   {process.broker.name}")
        remark(f"listens  {address}")
        remark(f"state    {data.absolute()}")

    await process.run(ready)
    remark("stopped")
