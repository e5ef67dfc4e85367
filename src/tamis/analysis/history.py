"""A history of events: how often each subscription matched, and what the events look like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engine import Index, compile
from tamis.matching.base.statistics import Statistics
from tamis.matching.columnar.level import ColumnarMatcher, Level
from tamis.schema import Schema

Events: TypeAlias = Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch]

SAMPLE = 50_000
_ROWS = 8192


@dataclass(frozen=True)
class History:
    """`matches[n]`: how many of so many events subscription n matched; None where there was no history."""

    events: int = 0
    matches: npt.NDArray[np.int64] | None = None
    statistics: Statistics | None = None


def look_back(level: Level, schema: Schema, events: Events) -> History:
    """Matches all events with a level's subscriptions; statistics are those of the first events."""
    matcher = ColumnarMatcher(schema, [level], None)
    counts, seen = np.zeros(len(level.names), np.int64), 0
    sample: list[pa.Table] = []
    for batch in _batches(schema, events):
        counts += np.bincount(matcher.match(batch).numbers, minlength=len(counts))
        if seen < SAMPLE:
            sample.append(pa.Table.from_batches([batch]).slice(0, SAMPLE - seen))
        seen += len(batch)
    if not seen:
        return History(0, counts)
    return History(seen, counts, Statistics.from_events(pa.concat_tables(sample, promote_options="default")))


def _batches(schema: Schema, events: Any) -> Iterable[pa.RecordBatch]:
    """The events in canonical batches."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        table = pa.Table.from_batches([events]) if isinstance(events, pa.RecordBatch) else events
        for batch in table.to_batches(max_chunksize=_ROWS):
            yield schema.to_arrow(batch)
    elif isinstance(events, Sequence) and events and isinstance(events[0], Mapping):
        for start in range(0, len(events), _ROWS):
            yield schema.to_arrow(events[start : start + _ROWS])
    else:
        for batch in events:
            yield schema.to_arrow(batch)


# Subscriptions as one level of the columnar index: what everything here is computed from.


def one_level(indexes: Sequence[Index]) -> Level:
    """All subscriptions of some indexes under one schema, in one level. The indexes themselves stay as they are."""
    levels = [_columnar(index).folded() for index in indexes]
    return levels[0] if len(levels) == 1 else ColumnarMatcher(indexes[0].schema, levels, None).folded()


def _columnar(index: Index) -> ColumnarMatcher:
    matcher = index.matcher
    if not isinstance(matcher, ColumnarMatcher):
        ids = index.ids()
        texts = pa.array([index.text(id) for id in ids.to_pylist()], pa.large_string())
        matcher = compile(pa.table({"id": ids, "filter": texts}), index.schema).matcher
        assert isinstance(matcher, ColumnarMatcher)
    return matcher
