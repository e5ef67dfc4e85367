"""What goes into a spool and what comes out: receipts for appends, records for readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

# The columns of every event log. A spool has one partition, 0.
RECORDS: Final = pa.schema(
    [
        pa.field("offset", pa.int64()),
        pa.field("partition", pa.int32()),
        pa.field("id", pa.string()),
        pa.field("time", pa.timestamp("us", "UTC")),
        pa.field("body", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Events that are durable: `count` of them from `first` of a partition on.

    `repeated`: they were there before, under this key; then the partition may not be known any more, and be 0.
    """

    first: int
    count: int
    repeated: bool = False
    partition: int = 0


def as_strings(values: pa.Array | pa.ChunkedArray, what: str) -> pa.Array:
    """One array of strings without nulls, or ValueError."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if values.null_count:
        raise ValueError(f"{what} must not be null")
    return values if values.type == pa.string() else values.cast(pa.string())
