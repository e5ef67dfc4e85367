"""`tamis simulate`: simulates the traffic, stress and latency of a network of brokers for joins."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column
from rich.text import Text

from tamis.cli.base.options import CommandError
from tamis.cli.base.terminal import PartedTable, out, remark
from tamis.lab.timing import figures

if TYPE_CHECKING:
    from tamis.lab.simulation.accounting import Traffic

_SHOWN = {
    "bytes": "kB between nodes",
    "hops": "messages",
    "link_bytes": "kB over links",
    "server": "kB from the server",
    "most_stressed": "kB, busiest node",
    "fan_out": "fan-out",
    "hop_latency": "hops to a subscriber",
    "idle": "reached in vain",
    "asks": "payloads asked for",
}
_KILOBYTES = ("bytes", "link_bytes", "server", "most_stressed")


def simulate(
    scheme: Annotated[
        list[str] | None,
        typer.Option("--scheme", metavar="NAME", help="A join scheme; may be repeated. All nine by default."),
    ] = None,
    network: Annotated[
        str, typer.Option("--network", help="zones (a CAN) or links (content-based: filters on links).")
    ] = "zones",
    subscriptions: Annotated[int, typer.Option("--subscriptions", min=1, help="Join subscriptions.")] = 100_000,
    events: Annotated[int, typer.Option("--events", min=1, help="Events that are counted.")] = 500,
    warm_up: Annotated[
        int, typer.Option("--warm-up", min=0, help="Earlier events that are not counted, to fill repositories.")
    ] = 0,
    nodes: Annotated[int, typer.Option("--nodes", min=1, help="Nodes of the network.")] = 1_000,
    topology: Annotated[int, typer.Option("--topology", min=1, help="Nodes of the Internet below it.")] = 20_000,
    r_rows: Annotated[int, typer.Option("--r-rows", min=1, help="Rows of the table whose rows come and go.")] = 16_000,
    s_rows: Annotated[int, typer.Option("--s-rows", min=70, help="Rows of the table that they join.")] = 5_100,
    payload: Annotated[int, typer.Option("--payload", min=0, help="Bytes of payload a row.")] = 100,
    repository: Annotated[
        int | None,
        typer.Option("--repository", min=0, help="Payloads that a node keeps (CN*). Without it nodes keep none (CN)."),
    ] = None,
    plain: Annotated[
        float, typer.Option("--plain", min=0, max=1, help="In CN*, the share of nodes that are plain CN nodes.")
    ] = 0.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed of workload, topology and placement.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per scheme, per event.")] = False,
) -> None:
    """Simulate a network for joins: traffic, messages, stress and latency, per event.

    Subscriptions, tables and events are those of the select-join workload (range selections over R joined with S), the
    Internet below is generated. Nothing is sent anywhere.

    \b
    [bold]Examples[/bold]
      tamis simulate
      tamis simulate --scheme ref-sj-clu+ --subscriptions 1000000 --events 59000
      tamis simulate --scheme ref-sj-clu+ --scheme ref-j+ --payload 1000 --r-rows 500 --repository 400 --warm-up 5000
      tamis simulate --network links --nodes 200 --json

    \b
    [bold]Exit codes[/bold]
      0  all done
      2  not done
    """
    import numpy as np

    from tamis.joins.schemes.scheme import SCHEMES
    from tamis.lab.simulation.joins import simulate as run
    from tamis.lab.simulation.simulation import FAN_OUT, NETWORKS, Star, overlay_of
    from tamis.workloads.select_joins import select_joins

    names = list(dict.fromkeys(scheme or SCHEMES))
    for name in names:
        if name not in SCHEMES:
            raise CommandError(f"there is no scheme {name!r}; there are {', '.join(SCHEMES)}")
    if network not in NETWORKS:
        raise CommandError(f"there is no network {network!r}; there are {' and '.join(NETWORKS)}")
    overlay = overlay_of(nodes, topology, seed, FAN_OUT)
    star = None
    if repository is not None:
        drawn = np.random.default_rng([seed, 23]).random(overlay.nodes) < plain
        star = Star(repository=repository, plain=drawn)
    workload = select_joins(subscriptions, events + warm_up, seed, r_rows=r_rows, s_rows=s_rows)
    found: dict[str, Traffic] = {}
    for name in names:
        start = time.perf_counter()
        found[name] = run(
            name, workload, overlay, network=network, events=events, warm_up=warm_up, payload=payload, star=star,
            counting=True, seed=seed,
        )  # fmt: skip
        if as_json:
            typer.echo(json.dumps({"scheme": name, "network": network, **found[name].row}))
        else:
            remark(f"{name}: {events:,} events in {time.perf_counter() - start:.1f} s")
    if not as_json:
        _show(found)


def _show(found: dict[str, Traffic]) -> None:
    table = PartedTable(
        Column("scheme", no_wrap=True), *(Column(heading, justify="right") for heading in _SHOWN.values())
    )
    for name, traffic in found.items():
        row = traffic.row
        table.add_row(name, *(figures(row[key] / (1000 if key in _KILOBYTES else 1)) for key in _SHOWN))
    out.print(Text("by event", "italic"))
    out.print(table)
