"""Event statistics for the planner: presence, frequent values and quantiles of each attribute, saved as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import StatisticsError

HEAVY_COUNT = 10  # rarer values in a sample say nothing about the value, only about the sample
HEAVY_VALUES = 1000
QUANTILES = 1024


@dataclass(frozen=True, slots=True)
class AttributeStatistics:
    """One attribute of the stream.

    `presence`: share of events that have it. `heavy`: share of its occurrences that are this value, for frequent
    values only. `quantiles`: its values at even steps of rank, ascending (empty where values have no order).
    Values are as in the language: timestamps are µs, enumerated and hierarchical values are strings.
    """

    presence: float
    heavy: Mapping[Any, float] = field(default_factory=dict)
    quantiles: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a stream: the number of events sampled, and the statistics of each attribute."""

    events: int
    attributes: Mapping[str, AttributeStatistics]

    @classmethod
    def from_events(cls, batch: pa.RecordBatch | pa.Table) -> Statistics:
        """Statistics of a canonical batch, usually a sample of some thousand events."""
        names, columns = batch.schema.names, batch.columns
        return cls(len(batch), {n: _attribute(c, len(batch)) for n, c in zip(names, columns, strict=True)})

    def to_dict(self) -> dict[str, Any]:
        return {
            "events": self.events,
            "attributes": {
                name: {"presence": a.presence, "heavy": list(a.heavy.items()), "quantiles": list(a.quantiles)}
                for name, a in self.attributes.items()
            },
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Statistics:
        return cls(
            int(data["events"]),
            {
                name: AttributeStatistics(a["presence"], dict(map(tuple, a["heavy"])), tuple(a["quantiles"]))
                for name, a in data["attributes"].items()
            },
        )

    def save(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps(self.to_dict()), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Statistics:
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StatisticsError(f"{path} holds no statistics: {error}") from error


def _attribute(column: pa.Array | pa.ChunkedArray, events: int) -> AttributeStatistics:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_list(column.type):
        present = pc.sum(pc.greater(pc.list_value_length(column), 0)).as_py() or 0
        column = column.flatten()
    else:
        present = len(column) - column.null_count
    values = column.drop_null()
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))  # no value at all: matchers refuse it
    if not len(values) or pa.types.is_binary(values.type):  # no filter compares bytes
        return AttributeStatistics(present / max(1, events))
    counted = values.value_counts()
    number = counted.field("counts").to_numpy()
    frequent = np.argsort(-number, kind="stable")[:HEAVY_VALUES]
    frequent = frequent[number[frequent] >= HEAVY_COUNT]
    keys = counted.field("values").take(pa.array(frequent)).to_pylist()
    heavy = dict(zip(keys, (number[frequent] / len(values)).tolist(), strict=True))
    quantiles: tuple[Any, ...] = ()
    if not pa.types.is_boolean(values.type):
        ordered = values.take(pc.array_sort_indices(values))
        steps = np.linspace(0, len(ordered) - 1, min(QUANTILES + 1, len(ordered))).astype(np.int64)
        quantiles = tuple(ordered.take(pa.array(steps)).to_pylist())
    return AttributeStatistics(present / max(1, events), heavy, quantiles)
