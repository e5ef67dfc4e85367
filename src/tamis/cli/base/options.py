"""Shared arguments and options of commands, their failures, and the checks of output paths."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tamis.cli.base.terminal import complain, remark
from tamis.errors import TamisError
from tamis.spark_cause import is_spark_error, spark_cause

if TYPE_CHECKING:
    from tamis.operators import Operator
    from tamis.service.store import Store


# Failures of commands: an exit code, and one message in place of a traceback.

PARTLY_REFUSED = 1
FAILED = 2


class CommandError(TamisError):
    """Command that cannot be run as given: a wrong suffix, options that exclude each other."""


class Commands(TyperGroup):
    """Command `tamis`. Errors of any subcommand end here, as a message and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except TamisError as error:
            complain(f"{_label(error)}{error}")
        except BrokenPipeError:
            raise
        except OSError as error:
            complain(_os_message(error))
        except MemoryError:
            complain("out of memory; smaller batches (--batch-rows) need less")
        except Exception as error:
            # Known by where they come from: Arrow takes long to load.
            if any(kind.__module__.partition(".")[0] == "pyarrow" for kind in type(error).__mro__):
                complain(f"cannot read or write the data: {error}")
            elif is_spark_error(error):
                complain(f"Spark failed: {spark_cause(error)}")
            else:
                raise
        raise typer.Exit(FAILED)


def _label(error: TamisError) -> str:
    """Class of an error, which users look up, except where it only says that the command line was wrong."""
    return "" if isinstance(error, CommandError) else f"{type(error).__name__}: "


def _os_message(error: OSError) -> str:
    place = error.filename if error.filename is not None else ""
    reasons = {
        errno.ENOENT: "no such file or folder",
        errno.EACCES: "no permission",
        errno.EPERM: "no permission",
        errno.EROFS: "the file system is read-only",
        errno.ENOSPC: "no space left",
        errno.EDQUOT: "no space left for this user",
        errno.EISDIR: "that is a folder, not a file",
        errno.ENOTDIR: "a part of the path is a file, not a folder",
    }
    reason = reasons.get(error.errno or 0, error.strerror or str(error))
    return f"{place}: {reason}" if place else reason


# Names that help shows of rooms that load slowly; tests/cli/test_loading.py compares them with the rooms' own.
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
        help="Write refused subscriptions to this file, each with its error (.jsonl, .csv, .parquet).",
        show_default=False,
    ),
]
DeadLettersOption = Annotated[
    Path | None,
    typer.Option(
        "--dead-letters",
        metavar="FILE",
        help="Write dead letters, events that break the schema, to this file (.jsonl, .csv, .parquet). Without it: "
        "standard error.",
        show_default=False,
    ),
]
BatchRowsOption = Annotated[
    int, typer.Option("--batch-rows", min=1, metavar="ROWS", help="Number of events read and matched at a time.")
]
IgnoreUnknownOption = Annotated[
    bool,
    typer.Option(
        "--ignore-unknown", help="Ignore attributes that the schema does not have, instead of refusing the event."
    ),
]

StateOption = Annotated[
    Path | None,
    typer.Option("--state", metavar="FOLDER", help="State folder of the server.", show_default="tamis-state"),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="The server's store, if it is not in its folder: postgresql+psycopg://user@host/database.",
        show_default=False,
    ),
]
OperatorsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--operators",
        metavar="NAMES",
        help="Operators that filters may call, comma-separated: the names of those that installed packages "
        "offer, or module:name, where the module is also looked for in this folder. May be given several times.",
        show_default=False,
    ),
]
MatcherOption = Annotated[
    str | None,
    typer.Option(
        "--matcher",
        metavar="NAME",
        help="Matching algorithm: " + ", ".join(MATCHERS) + "; or auto, the fastest.",
        show_default="columnar",
    ),
]
MatcherOptionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the matcher, such as collapse=false. May be given several times; the same name again "
        "makes a list.",
        show_default=False,
    ),
]
ScheduleOption = Annotated[
    str | None,
    typer.Option(
        "--schedule",
        metavar="NAME",
        help="Evaluation order of operators: " + ", ".join(SCHEDULES) + ".",
        show_default="adaptive",
    ),
]


def operators_of(named: list[str] | None) -> list[Operator] | None:
    """Operators as `tamis.compile` takes them; None where none is named."""
    if not named:
        return None
    from tamis.operators.registry import operators_named

    names = separate(named)
    return operators_named(names) if names else None


def separate(named: list[str] | None) -> list[str]:
    """Splits comma-separated names."""
    return [name.strip() for some in named or () for name in some.split(",") if name.strip()]


@contextmanager
def opened_store(state: Path | None, url: str | None) -> Iterator[Store]:
    """Opens the store that a server with these options and this environment would use."""
    try:
        from tamis.service.base.configuration import read_settings
        from tamis.service.store import Store
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "tamis":
            raise
        raise CommandError(f"the store needs {error.name}: pip install 'tamis[service]'") from error
    settings = read_settings({"state": state, "store_url": url})
    if not settings.store_url and not settings.state.exists():
        remark(f"{settings.state} is new: no server has kept its state there so far (--state names another folder)")
    store = Store.open(settings.store, settings.matches)
    try:
        yield store
    finally:
        store.close()


def matcher_options(given: list[str] | None) -> dict[str, Any]:
    """Parses `name=value` options: values are numbers, true, false, or else words."""
    found: dict[str, Any] = {}
    for text in given or ():
        name, equals, word = text.partition("=")
        if not equals:
            raise CommandError(f"--option {text}: an option is NAME=VALUE")
        try:
            value = json.loads(word)
        except ValueError:
            value = word
        if name in found:
            before = found[name]
            found[name] = [*before, value] if isinstance(before, list) else [before, value]
        else:
            found[name] = value
    return found


# File formats by suffix, and checks that a path can be written, before any work is done.

STREAM = Path("-")


class Format(Enum):
    JSON_LINES = "JSON lines"
    JSON = "JSON"
    YAML = "YAML"
    CSV = "CSV"
    PARQUET = "Parquet"


_SUFFIXES = {
    ".jsonl": Format.JSON_LINES,
    ".ndjson": Format.JSON_LINES,
    ".jsonl.gz": Format.JSON_LINES,
    ".ndjson.gz": Format.JSON_LINES,
    ".json.gz": Format.JSON_LINES,
    ".json": Format.JSON,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
}


def format_of(path: Path, allowed: tuple[Format, ...], what: str) -> Format:
    """Format of a file by its suffix; refused where `what` cannot be in it."""
    name = path.name.lower()
    for suffix in sorted(_SUFFIXES, key=len, reverse=True):
        if name.endswith(suffix) and _SUFFIXES[suffix] in allowed:
            return _SUFFIXES[suffix]
    suffixes = ", ".join(suffix for suffix, form in _SUFFIXES.items() if form in allowed)
    raise CommandError(f"{path}: the name's suffix does not say how to read or write {what}; use one of {suffixes}")


def require_new_folder(path: Path) -> None:
    """Checks, like `require_writable`, a folder that is to be created, with the folders above it."""
    if path.exists():
        raise CommandError(f"{path} exists already; Spark writes new folders only")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise NotADirectoryError(20, "", str(path))
    if not os.access(above, os.W_OK):
        raise PermissionError(13, "", str(path))


def require_writable(path: Path) -> None:
    """Raises an error for an unwritable path, before the work is done."""
    folder = path.parent if path.parent.name or path.is_absolute() else Path()
    if path.is_dir():
        raise IsADirectoryError(21, "", str(path))
    if not folder.is_dir():
        raise CommandError(f"{path}: there is no folder {folder}; make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise PermissionError(13, "", str(path))
