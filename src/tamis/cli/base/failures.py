"""Failures of commands: an exit code, and one message in place of a traceback."""

from __future__ import annotations

import errno
from typing import Any

import typer
from typer.core import TyperGroup

from tamis.cli.base.terminal import complain
from tamis.errors import TamisError
from tamis.spark_cause import is_spark_error, spark_cause

PARTLY_REFUSED = 1
FAILED = 2


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
            # Known by where they come from: Arrow takes long to load.
            if any(kind.__module__.partition(".")[0] == "pyarrow" for kind in type(error).__mro__):
                complain(f"cannot read or write the data: {error}")
            elif is_spark_error(error):
                complain(f"Spark failed: {spark_cause(error)}")
            else:
                raise
        raise typer.Exit(FAILED)


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
