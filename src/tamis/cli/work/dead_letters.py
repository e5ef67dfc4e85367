"""Events that break the schema: one row a violation, with the event as it came and where it came from.

`row` is the line or row of `source`, counted from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rich.text import Text

from tamis.cli.base.terminal import err
from tamis.cli.work.tables import TableWriter, json_rows, table_writer

SCHEMA = pa.schema(
    {
        "source": pa.string(),
        "row": pa.int64(),
        "attribute": pa.string(),
        "rule": pa.string(),
        "value": pa.string(),
        "message": pa.string(),
        "event": pa.string(),
    }
)
NONE = SCHEMA.empty_table()


def letters(source: str, rows: npt.NDArray[np.int64], violations: pa.Table, text: Callable[[int], str]) -> pa.Table:
    """`violations` as `Schema.check` gives them; event k there is row `rows[k]` of the source and reads `text(k)`."""
    events = violations["event"].to_numpy()
    return pa.table(
        {
            "source": pa.repeat(source, len(violations)),
            "row": rows[events],
            **{name: violations[name] for name in ("attribute", "rule", "value", "message")},
            "event": pa.array([text(int(event)) for event in events], pa.string()),
        },
        SCHEMA,
    )


def events_in(dead: pa.Table) -> int:
    """How many events the letters speak of: an event may break several rules."""
    return len(pc.unique(dead["row"]))


class DeadLetters:
    """Takes dead letters to their file, or to standard error where none was named. None is ever dropped."""

    def __init__(self, writer: TableWriter) -> None:
        self._writer = writer
        self.events = 0

    def put(self, dead: pa.Table) -> None:
        if len(dead):
            self.events += events_in(dead)
            self._writer.write(dead)


@contextmanager
def dead_letters(path: Path | None) -> Iterator[DeadLetters]:
    if path is None:
        yield DeadLetters(_StandardError())
        return
    with table_writer(path, SCHEMA) as writer:
        yield DeadLetters(writer)


class _StandardError:
    def write(self, table: pa.Table) -> None:
        for line in json_rows(table):
            err.print(Text(line), soft_wrap=True)
