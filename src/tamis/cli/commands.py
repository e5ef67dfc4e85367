"""Command `tamis` with all its subcommands."""

from __future__ import annotations

import platform
import shutil
from importlib import metadata
from typing import Annotated

import typer

from tamis.cli.analyze import analyze
from tamis.cli.backtest import backtest
from tamis.cli.base.options import Commands
from tamis.cli.base.terminal import out
from tamis.cli.bench import bench
from tamis.cli.broker import broker
from tamis.cli.compile import compile
from tamis.cli.convert import convert
from tamis.cli.covers import covers
from tamis.cli.demo import demo
from tamis.cli.experiments import experiments
from tamis.cli.explain import explain
from tamis.cli.join import join
from tamis.cli.keys import keys
from tamis.cli.match import match
from tamis.cli.merge import merge
from tamis.cli.operators import operators
from tamis.cli.serve import serve
from tamis.cli.simulate import simulate
from tamis.cli.subscriptions_import import subscriptions_import
from tamis.cli.validate import validate

_PARTS = ("pyarrow", "numba", "sqlglot", "pyspark")


def _say_version(wanted: bool) -> None:
    """Prints the version for `tamis --version`, and exits."""
    if wanted:
        out.print(f"tamis {metadata.version('tamis')}")
        raise typer.Exit


def version() -> None:
    """Print the installed versions of Tamis and its main parts.

    [bold]Examples[/bold]

      tamis version
    """
    out.print(f"tamis {metadata.version('tamis')}")
    out.print(f"python {platform.python_version()}")
    for part in _PARTS:
        try:
            out.print(f"{part} {metadata.version(part)}")
        except metadata.PackageNotFoundError:
            out.print(f"{part} not installed")
    out.print(f"java {shutil.which('java') or 'not found'}")


app = typer.Typer(
    cls=Commands,
    name="tamis",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback()
def tamis(
    _: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_say_version, help="Print the version of Tamis, and exit."),
    ] = False,
) -> None:
    """Match a stream of events with standing subscriptions, and tell which each event satisfies.

    \b
    [bold]Start here[/bold]
      tamis demo
      tamis match subscriptions.jsonl events.jsonl --schema auctions.yaml
      tamis serve --schema auctions.yaml

    \b
    [bold]Exit codes[/bold]
      0  all done
      1  done, but some input was refused (it is kept, with the reason)
      2  not done
    """


for command in (match, join, validate, explain, compile, backtest, analyze, covers, merge, bench, convert, serve, demo):
    app.command()(command)
app.command()(operators)
app.command()(simulate)
app.command()(version)
app.command("import")(subscriptions_import)
app.add_typer(keys)
app.add_typer(broker)
app.add_typer(experiments)
