"""What the user sees beside the results: progress, remarks and complaints, all on standard error.

Standard output belongs to results alone, so that a command can stand in a pipe.
"""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def remark(message: str) -> None:
    err.print(Text(message), soft_wrap=True)


def complain(message: str) -> None:
    """An error. Lines are not wrapped: a filter's underline must stay under its filter."""
    err.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


def warn(message: str) -> None:
    err.print(Text.assemble(("warning: ", "bold yellow"), message), soft_wrap=True)


def progress_bar(*, results_on_screen: bool = False) -> Progress:
    """A bar for work whose size is known or not, with a note a task.

    Nothing is drawn where standard error is no terminal, or where results scroll by on the same one.
    """
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TextColumn("[dim]{task.fields[note]}"),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal or (results_on_screen and out.is_terminal),
    )
