"""Workload, which every generator gives: a schema, subscriptions and events that belong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.schema import Schema


@dataclass(frozen=True)
class Workload:
    """A named, seeded problem: the same name, sizes and seed give the same rows on every machine.

    `subscriptions` has the string columns `id` and `filter`; `events` has a column an attribute, null where the
    attribute is absent and a list where it is multiple. `expected`: how many matches each event has, where others
    have counted them.
    """

    name: str
    schema: Schema
    subscriptions: pa.Table
    events: pa.Table
    expected: npt.NDArray[np.int64] | None = field(default=None, compare=False)

    def batches(self, rows: int = 8192) -> Iterator[pa.RecordBatch]:
        """The events in record batches of at most so many rows."""
        return iter(self.events.combine_chunks().to_batches(max_chunksize=rows))


def numbered(texts: pa.StringArray) -> pa.Table:
    """The texts as a table of subscriptions `s0`, `s1`, …"""
    numbers = pa.array(np.arange(len(texts))).cast(pa.string())
    return pa.table({"id": pc.binary_join_element_wise("s", numbers, ""), "filter": texts})


def codes_as_strings(codes: npt.NDArray[np.int64], present: npt.NDArray[np.bool_] | None = None) -> pa.StringArray:
    """Code 17 as `v17`, null where not present."""
    largest = int(codes.max(initial=0))
    words = pc.binary_join_element_wise("v", pa.array(np.arange(largest + 1)).cast(pa.string()), "")
    return words.take(pa.array(codes, mask=None if present is None else ~present))


def single_type(kinds: dict[str, str], event_type: str = "event") -> Schema:
    """A schema of one event type in which every attribute is optional."""
    return Schema.from_dict({"attributes": kinds, "event_types": {event_type: dict.fromkeys(kinds, "optional")}})
