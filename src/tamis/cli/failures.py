"""How a command ends: its exit code, and one message in place of a traceback."""

from __future__ import annotations

import errno
import re
from typing import Any

import typer
from typer.core import TyperGroup

from tamis.cli.terminal import complain
from tamis.errors import TamisError

PARTLY_REFUSED = 1
FAILED = 2


# Python's own lines first: where a worker failed, Java's around them say only that.
_CAUSES = (
    re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(?:[\w.]+\.)?(\w+: .+)$", re.MULTILINE),
    re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception): .+)$", re.MULTILINE),
    re.compile(r"^(?:: |Caused by: )(?:[\w.$]+\.)?(\w+: .+)$", re.MULTILINE),
)


class CommandError(TamisError):
    """A command that cannot be carried out as it was given: a wrong suffix, options that exclude each other."""


class Commands(TyperGroup):
    """The `tamis` command. Whatever a subcommand cannot do ends here, as a message and exit code 2."""

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
            # Known by where they come from: Arrow takes long to load, and PySpark may not be installed.
            origins = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
            if "pyarrow" in origins:
                complain(f"cannot read or write the data: {error}")
            elif origins & {"pyspark", "py4j"}:
                complain(f"Spark failed: {spark_cause(error)}")
            else:
                raise
        raise typer.Exit(FAILED)


def spark_cause(error: BaseException) -> str:
    """The line that says what happened: it stands somewhere in a page of two languages' tracebacks."""
    for pattern in _CAUSES:
        if causes := pattern.findall(str(error)):
            return str(causes[-1])
    return str(error).partition("\n")[0]


def _label(error: TamisError) -> str:
    """The class is part of what a user looks up, except where it only says that the command line was wrong."""
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
