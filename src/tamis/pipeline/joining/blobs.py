"""Arrow tables as bytes: a table is one value to Spark, on its way and in its state."""

from __future__ import annotations

import pyarrow as pa

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def to_blob(table: pa.Table | pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write(table)
    return bytes(sink.getvalue())


def from_blob(blob: bytes) -> pa.Table:
    return pa.ipc.open_stream(pa.BufferReader(blob)).read_all()


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """The rows of a table in one piece."""
    batches = table.combine_chunks().to_batches()
    return (
        batches[0]
        if batches
        else pa.RecordBatch.from_arrays([pa.array([], field.type) for field in table.schema], schema=table.schema)
    )
