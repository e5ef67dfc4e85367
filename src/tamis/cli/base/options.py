"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# What help shows of rooms that take long to load; tests/cli/test_loading.py holds it to what the rooms have.
MATCHERS = (
    "columnar", "naive", "fair-predicate", "equality-preferred", "quarantine", "hanson", "neon", "gough", "scan",
    "tree", "mbd",
)  # fmt: skip
SCHEDULES = ("naive", "sequential", "sequential-stopping", "sub-order", "adaptive")
SAMPLE = 50_000  # of past events that a command looks at which is not about them

SubscriptionsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="SUBSCRIPTIONS",
        help="JSON lines, CSV or Parquet with id and filter; a YAML or JSON mapping from id to filter; or a folder "
        "written by [bold]tamis compile[/bold].",
        show_default=False,
    ),
]
EventsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="EVENTS",
        help="JSON lines (.jsonl, .ndjson, .json, also .gz), Parquet, folders of them, or - for JSON lines on "
        "standard input.",
        show_default=False,
    ),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        "-s",
        metavar="FILE",
        help="The schema, in YAML. Without it: the compiled index's own, or inferred from Parquet events.",
        show_default=False,
    ),
]
RefusedOption = Annotated[
    Path | None,
    typer.Option(
        "--refused",
        metavar="FILE",
        help="Where refused subscriptions go, each with its error (.jsonl, .csv, .parquet).",
        show_default=False,
    ),
]
DeadLettersOption = Annotated[
    Path | None,
    typer.Option(
        "--dead-letters",
        metavar="FILE",
        help="Where events that break the schema go, each with the reason (.jsonl, .csv, .parquet). Without it: "
        "standard error.",
        show_default=False,
    ),
]
BatchRowsOption = Annotated[
    int, typer.Option("--batch-rows", min=1, metavar="ROWS", help="How many events are read and matched at a time.")
]
IgnoreUnknownOption = Annotated[
    bool,
    typer.Option("--ignore-unknown", help="Pass over what the schema does not know instead of refusing the event."),
]
