"""The operators that a command's filters may call: offered by installed packages, or found in a module."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from tamis.cli.failures import CommandError
from tamis.operators import Operator
from tamis.operators.schedules import SCHEDULES

OperatorsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--operator",
        metavar="NAME",
        help="An operator that filters may call: the name of one that an installed package offers, or module:name, "
        "where the module is also looked for in this folder. May be given several times.",
        show_default=False,
    ),
]


ScheduleOption = Annotated[
    str,
    typer.Option("--schedule", metavar="NAME", help="The order of operators: " + ", ".join(SCHEDULES) + "."),
]


def operators_of(named: list[str] | None) -> list[Operator | str] | None:
    """What `tamis.compile` takes; None where none is named."""
    return None if not named else [_found(name) for name in named]


def _found(name: str) -> Operator | str:
    module, colon, path = name.partition(":")
    if not colon:
        return name
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: object = importlib.import_module(module)
    except ImportError as error:
        raise CommandError(f"--operator {name}: there is no module {module} to import: {error}") from error
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, Operator):
        raise CommandError(f"--operator {name}: {module} has no operator {path}; declare it with @tamis.operator")
    return found
