"""How the contents of joins change, as a file: one row a result that came or went, or a change that was refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.cli.work.tables import TableWriter, json_rows, table_writer
from tamis.engine import Index

SCHEMA = pa.schema(
    {
        "event": pa.int64(),
        "subscription": pa.string(),
        "change": pa.string(),
        "row": pa.string(),
        "message": pa.string(),
    }
)
REFUSED = "refused"


class JoinChangesFile:
    """Hands events to the joins of an index and writes what they change.

    A change that its table cannot take is a row of its own, with the reason as its message.
    """

    def __init__(self, index: Index, writer: TableWriter) -> None:
        self._index = index
        self._writer = writer
        self.refused = 0

    def put(self, events: pa.RecordBatch, numbers: npt.NDArray[np.int64]) -> None:
        """Events that satisfy the schema, with their positions in the input."""
        changes = self._index.apply(events)
        for table in changes.to_arrow():
            if len(table):
                rows = table["row"].combine_chunks()
                self._write(
                    numbers[table["event"].to_numpy()],
                    table["subscription"].cast(pa.string()).combine_chunks(),
                    table["change"].cast(pa.string()).combine_chunks(),
                    pa.array(json_rows(pa.RecordBatch.from_struct_array(rows)), pa.string()),
                    pa.nulls(len(table), pa.string()),
                )
        if changes.refused:
            self.refused += len(changes.refused)
            none = pa.nulls(len(changes.refused), pa.string())
            positions = numbers[[violation.event for violation in changes.refused]]
            messages = pa.array([violation.message for violation in changes.refused], pa.string())
            self._write(positions, none, pa.array([REFUSED] * len(messages), pa.string()), none, messages)

    def _write(self, positions: npt.NDArray[np.int64], *columns: pa.Array) -> None:
        self._writer.write(pa.Table.from_arrays([pa.array(positions), *columns], schema=SCHEMA))


@contextmanager
def join_changes(path: Path | None, index: Index) -> Iterator[JoinChangesFile | None]:
    """None where nothing is to be written."""
    if path is None:
        yield None
        return
    with table_writer(path, SCHEMA) as writer:
        yield JoinChangesFile(index, writer)
