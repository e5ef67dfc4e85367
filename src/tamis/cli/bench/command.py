"""`tamis bench`: measures the speed of matchers on named workloads or on given subscriptions and events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import tamis
from tamis.cli.base.options import PARTLY_REFUSED, CommandError, SchemaOption, require_writable
from tamis.cli.base.terminal import out, progress_bar, remark
from tamis.cli.bench import numbers

if TYPE_CHECKING:
    from tamis.cli.bench.problems import Results
    from tamis.lab.comparison import Cell, Problem, Terms

_DEFAULT_WORKLOADS = ("le_subscribe",)
_WIDTH = 120  # of the table where there is no terminal to say


def bench(
    matchers: Annotated[
        str | None,
        typer.Option(
            "--matchers",
            "-m",
            metavar="NAMES",
            help="Matchers, comma-separated, or [bold]all[/bold]. Without it: all but naive, the slow oracle.",
            show_default=False,
        ),
    ] = None,
    workloads: Annotated[
        list[str] | None,
        typer.Option(
            "--workloads",
            "-w",
            metavar="NAMES",
            help="Workloads, comma-separated, or [bold]all[/bold]; with parameters: le_subscribe(p=1). Without "
            "it: le_subscribe, unless other data is named.",
            show_default=False,
        ),
    ] = None,
    sizes: Annotated[
        str, typer.Option("--sizes", "-n", metavar="NUMBERS", help="Numbers of subscriptions of named workloads.")
    ] = "10k,100k",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the workloads: p=0.8.", show_default=False),
    ] = None,
    stock_quotes: Annotated[
        Path | None,
        typer.Option(
            "--stock-quotes",
            metavar="FOLDER",
            help="Stock quotes and subscriptions to them, with the number of matches that each must have.",
            show_default=False,
        ),
    ] = None,
    subscriptions: Annotated[
        Path | None,
        typer.Option(
            "--subscriptions", metavar="FILE", help="Your own subscriptions, as for tamis match.", show_default=False
        ),
    ] = None,
    events: Annotated[
        list[Path] | None,
        typer.Option("--events", metavar="FILE", help="Your own events, as for tamis match.", show_default=False),
    ] = None,
    schema: SchemaOption = None,
    event_count: Annotated[
        int, typer.Option("--event-count", min=1, metavar="NUMBER", help="Number of events of a workload.")
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", metavar="NUMBER", help="Random seed of the workloads.")] = 1,
    baseline: Annotated[
        str, typer.Option("--baseline", "-b", metavar="MATCHER", help="Matcher that the others are compared with.")
    ] = "columnar",
    budget: Annotated[
        float, typer.Option("--budget", min=0.001, metavar="SECONDS", help="Measuring time per matcher.")
    ] = 2.0,
    limit: Annotated[
        float,
        typer.Option("--limit", min=0.001, metavar="SECONDS", help="Time limit per matcher, building included."),
    ] = 300.0,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="BYTES",
            help="Memory limit per matcher: 4G. Without it: most of the machine's.",
            show_default=False,
        ),
    ] = None,
    batch_rows: Annotated[
        int, typer.Option("--batch-rows", min=1, metavar="ROWS", help="Number of events matched at a time.")
    ] = 2048,
    json_to: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all numbers to this file.", show_default=False)
    ] = None,
    plot_to: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Write a plot to this file (.png, .svg, .pdf).", show_default=False
        ),
    ] = None,
    markdown_to: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Write a table in Markdown to this file.", show_default=False),
    ] = None,
) -> None:
    """Benchmark matchers against each other, on named workloads or on your own data.

    Each matcher is built and warmed in a process of its own, then matches for --budget seconds; a slow one sees
    fewer events. A matcher that cannot run (too little memory, too slow) is shown with the reason.

    \b
    [bold]Examples[/bold]
      tamis bench
      tamis bench -m columnar,quarantine,tree -w gryphon -n 1k,10k,100k --plot gryphon.png
      tamis bench -w 'le_subscribe(p=0.2),ranges' --baseline quarantine --json out.json
      tamis bench -w all -n 100k -m all
      tamis bench --subscriptions subs.jsonl --events events.jsonl --schema auctions.yaml

    \b
    [bold]Exit codes[/bold]
      0  all measured
      1  done, but some could not be measured
      2  not done
    """  # fmt: skip
    from tamis.cli.bench.plot import plot, require_plot
    from tamis.cli.bench.problems import Results, matchers_named
    from tamis.cli.bench.tables import page_table, table
    from tamis.lab.comparison import Terms

    for path in (json_to, plot_to, markdown_to):
        if path is not None:
            require_writable(path)
    if plot_to is not None:
        require_plot(plot_to)
    names = matchers_named(matchers)
    if baseline not in names:
        if len(names) > 1 and baseline != "columnar":
            raise CommandError(f"--baseline {baseline}: it is not among the matchers that are measured")
        baseline = names[0]
    problems = _problems(
        workloads, sizes, settings or [], stock_quotes, subscriptions, events, schema, event_count, seed
    )
    terms = Terms(budget, limit, None if memory is None else numbers.memory(memory), batch_rows)
    results = Results(_measured(problems, names, terms), baseline)
    if not results.cells:
        raise CommandError("nothing was measured")
    screen = out if out.is_terminal else Console(width=_WIDTH, highlight=False)
    screen.print(table(results, screen.width))
    if json_to is not None:
        about = {"seed": seed, "event_count": event_count, "budget_seconds": budget, "batch_rows": batch_rows}
        json_to.write_text(json.dumps(_content(results, about), indent=1) + "\n", encoding="utf-8")
    if markdown_to is not None:
        markdown_to.write_text(page_table(results), encoding="utf-8")
    if plot_to is not None:
        plot(results, plot_to)
    if not results.complete or len(results.cells) < len(problems) * len(names):
        raise typer.Exit(PARTLY_REFUSED)


def _problems(
    workloads: Sequence[str] | None,
    sizes: str,
    settings: Sequence[str],
    stock_quotes: Path | None,
    subscriptions: Path | None,
    events: Sequence[Path] | None,
    schema: Path | None,
    event_count: int,
    seed: int,
) -> list[Problem]:
    from tamis.cli.bench.problems import files_problem, named_problems, quotes_problem

    other: list[Problem] = []
    if stock_quotes is not None:
        other.append(quotes_problem(stock_quotes))
    if (subscriptions is None) != (not events):
        raise CommandError("--subscriptions and --events belong together: give both, or none")
    if subscriptions is not None and events:
        other.append(files_problem(subscriptions, events, schema, event_count))
    wanted = workloads or (() if other else _DEFAULT_WORKLOADS)
    return named_problems(wanted, sizes, settings, event_count, seed) + other


def _measured(problems: Sequence[Problem], matchers: Sequence[str], terms: Terms) -> list[Cell]:
    """All cells of the result; those measured so far, if the user stops the run."""
    from tamis.lab.comparison import compare

    cells: list[Cell] = []
    turns = [f"{problem.name}: {matcher}" for problem in problems for matcher in matchers]
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=len(turns), note=turns[0])
        try:
            for cell in compare(problems, matchers, terms):
                cells.append(cell)
                bar.update(task, advance=1, note="".join(turns[len(cells) : len(cells) + 1]))
        except KeyboardInterrupt:
            remark(f"stopped after {len(cells)} of {len(turns)}")
    return cells


def _content(results: Results, about: dict[str, Any]) -> dict[str, Any]:
    from tamis.lab.timing import occasion

    return {
        **occasion(),
        "tamis": tamis.__version__,
        **about,
        "baseline": results.baseline,
        "cells": results.to_rows(),
    }
