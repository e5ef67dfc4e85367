"""What workers do with the answers of cells: the rows that blobs stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from tamis.pipeline.joining.blobs import from_blob
from tamis.pipeline.joining.packing import DEAD
from tamis.pipeline.joining.row_changes import CHANGES

COLUMNS = pa.schema(
    [("batch", pa.int64()), *CHANGES, *(field for field in DEAD if field.name not in CHANGES.names)],
)


@dataclass(frozen=True, slots=True)
class Unpacker:
    """Answers in, rows of changes out, or with `dead` those of dead letters too; a row has nulls where the other has
    its columns."""

    dead: bool

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, changes, dead in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                for blob in (changes, dead if self.dead else None):
                    if blob is not None:
                        yield from _rows(from_blob(blob), number)


def _rows(table: pa.Table, number: int) -> Iterator[pa.RecordBatch]:
    columns = [pa.array([number] * table.num_rows, pa.int64())]
    for field in list(COLUMNS)[1:]:
        there = field.name in table.schema.names
        columns.append(table[field.name].combine_chunks() if there else pa.nulls(table.num_rows, field.type))
    if table.num_rows:
        yield pa.RecordBatch.from_arrays(columns, [f"c{place}" for place in range(len(columns))])
