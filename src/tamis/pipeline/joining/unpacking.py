"""What workers do with the answers of cells: the rows that blobs stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from tamis.pipeline.joining.blobs import from_blob
from tamis.pipeline.joining.packing import DEAD
from tamis.pipeline.joining.row_changes import CHANGES

_ROWS = 20_000  # at a time: Spark takes some while the next are made
_BATCH = pa.field("batch", pa.int64())
_CHANGES = pa.schema([_BATCH, *CHANGES])
_ALL = pa.schema([*_CHANGES, *(field for field in DEAD if field.name not in CHANGES.names)])


@dataclass(frozen=True, slots=True)
class Unpacker:
    """Answers in, rows of changes out, or with `dead` those of dead letters too; a row has nulls where the other has
    its columns."""

    dead: bool

    @property
    def columns(self) -> pa.Schema:
        """Of the rows."""
        return _ALL if self.dead else _CHANGES

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, changes, dead in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                for blob in (changes, dead if self.dead else None):
                    if blob is not None:
                        yield from self._rows(from_blob(blob), number)

    def _rows(self, table: pa.Table, number: int) -> Iterator[pa.RecordBatch]:
        for piece in table.to_batches(max_chunksize=_ROWS):
            there = {_BATCH.name: pa.repeat(pa.scalar(number, pa.int64()), piece.num_rows)}
            there |= dict(zip(piece.schema.names, piece.columns, strict=True))
            arrays = [
                there[field.name] if field.name in there else pa.nulls(piece.num_rows, field.type)
                for field in self.columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.columns)
