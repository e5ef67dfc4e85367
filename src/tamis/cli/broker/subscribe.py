"""`tamis broker subscribe`: events that satisfy a filter, as JSON lines."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tamis.cli.base.terminal import remark
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


def subscribe(
    filters: Annotated[list[str], typer.Argument(metavar="FILTER...", help="Filters.", show_default=False)],
    name: NameOption,
    at: AtOption = DEFAULT_ADDRESS,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="End after so many events.", show_default=False)
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Leave the subscriptions in force at the end; what comes waits for this name."),
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
