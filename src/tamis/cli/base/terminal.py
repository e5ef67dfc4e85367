"""Terminal output of commands: progress, messages, warnings and tables, on standard error except for results.

Standard output belongs to results alone, so that a command can stand in a pipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from tamis.compiled import when_compiling

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

_GAP = 2
_UNBOUNDED = 100_000


def remark(message: str) -> None:
    err.print(Text(message), soft_wrap=True)


def complain(message: str) -> None:
    """Prints an error. Lines are not wrapped: a filter's underline must stay under its filter."""
    err.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


def warn(message: str) -> None:
    err.print(Text.assemble(("warning: ", "bold yellow"), message), soft_wrap=True)


def progress_bar(*, results_on_screen: bool = False) -> Progress:
    """Progress bar for work whose size is known or not, with a note a task.

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


class PartedTable:
    """Table that is split into parts below each other where the screen is too narrow, each with the first column.

    A column takes no less than its longest word, or its longest cell if it is `no_wrap`. One that has a `min_width` can
    do with that, and is wrapped or cut off as it says.
    """

    def __init__(self, *columns: Column | str) -> None:
        self._columns = [Column(each) if isinstance(each, str) else each for each in columns]
        self._rows: list[Sequence[RenderableType]] = []

    def add_row(self, *cells: RenderableType) -> None:
        """Adds a row; missing cells at the end are empty."""
        self._rows.append([*cells, *[""] * (len(self._columns) - len(cells))])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        needs = [self._need(column, console) for column in range(len(self._columns))]
        room = options.max_width
        shown = [0]
        for column in range(1, len(needs)):
            if len(shown) > 1 and sum(needs[each].minimum + _GAP for each in shown) + needs[column].minimum > room:
                yield self._part(shown, needs, room)
                yield ""
                shown = [0]
            shown.append(column)
        yield self._part(shown, needs, room)

    def _need(self, column: int, console: Console) -> Measurement:
        """Smallest and largest useful width of a column."""
        unbounded = console.options.update(width=_UNBOUNDED)
        need = Measurement.get(console, unbounded, self._table([self._columns[column].copy()], [column]))
        least = self._columns[column].min_width
        return need if least is None else Measurement(min(least, need.maximum), need.maximum)

    def _part(self, shown: Sequence[int], needs: Sequence[Measurement], room: int) -> Table:
        # Rich would take room from wide columns first, and cut words off where narrow ones have more than they need.
        widths = [needs[column].minimum for column in shown]
        spare = room - sum(widths) - _GAP * (len(shown) - 1)
        while spare > 0 and any(width < needs[column].maximum for width, column in zip(widths, shown, strict=True)):
            for place, column in enumerate(shown):
                if spare > 0 and widths[place] < needs[column].maximum:
                    widths[place] += 1
                    spare -= 1
        columns = [self._columns[column].copy() for column in shown]
        for each, width in zip(columns, widths, strict=True):
            each.width = width
        return self._table(columns, shown)

    def _table(self, columns: Sequence[Column], shown: Sequence[int]) -> Table:
        table = Table(*columns, box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
        for cells in self._rows:
            table.add_row(*(cells[column] for column in shown))
        return table


def tell_of_compiling() -> None:
    """Shows when kernels are compiled, from here on, on a terminal."""
    if err.is_terminal:
        when_compiling(_tell)


@cache  # once a process
def _tell() -> None:
    remark("compiling for this machine, which is done once and takes up to a minute ...")
