"""`tamis demo`: streams auctions through Spark against a hundred thousand subscriptions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Write the results to this folder; replaced.")
    ] = Path("demo-results"),
    subscriptions: Annotated[
        int, typer.Option("--subscriptions", "-n", min=1, help="Number of subscriptions.")
    ] = 100_000,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="Duration of the stream.")] = 30,
    rate: Annotated[int, typer.Option("--rate", min=5, help="Events written per second.")] = 1_000,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of auctions and subscriptions.")] = 1,
) -> None:
    """Stream auctions through Spark against 100,000 subscriptions, and show what happens.

    Lots of antiques and furniture are written to a folder at a steady rate. Spark reads them as they appear, Tamis
    matches them with the subscriptions, matches and dead letters are written as Parquet. In mid-stream subscriptions
    are added and removed without a restart. The results are a plot and a folder of files.

    \b
    [bold]Examples[/bold]
      tamis demo
      tamis demo --subscriptions 10000 --seconds 20 --output auctions
    """
    from tamis.cli.demo.performance import perform

    perform(output, subscriptions, seconds, rate, seed)
