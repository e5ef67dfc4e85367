"""Filters tried on what was published last: which of the newest events match, and which do not."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field

from tamis.operators.values import json_bindings
from tamis.service.base.event_body import published_event
from tamis.service.examining.bench import Bench
from tamis.service.examining.examined import index_of, newest_first
from tamis.service.examining.joins import JoinedNow
from tamis.service.examining.language import ReadFilter

_SHOWN: Final = 50
_SHOWN_BYTES: Final = 1 << 20  # of matches, and of misses
EXAMINED: Final = 16 << 20
"""Bytes of events that a filter is tried on."""


class TriedEvent(BaseModel):
    """A recent event; `bindings` are what the filter's variables are bound to, if it has any and matches."""

    id: str
    time: datetime
    event: dict[str, Any]
    bindings: dict[str, Any] | None = None


class TriedFilter(BaseModel):
    """Of the newest events, those that match and those that do not, the newest first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "canonical": "price < 10.0",
                    "examined": 1000,
                    "matched": 1,
                    "events": [{"id": "evt_0", "time": "2026-01-01T10:00:00Z", "event": {"price": 9.5}}],
                    "misses": [{"id": "evt_1", "time": "2026-01-01T09:59:59Z", "event": {"price": 90.0}}],
                }
            ]
        }
    )

    canonical: str
    examined: int = Field(
        description="Where operators are called, as many as there was time for; of joins, rows of their tables"
    )
    matched: int = Field(description="How many events match; of joins, how many results there are")
    events: list[TriedEvent] = Field(description=f"Those that match, at most {_SHOWN}, and fewer large ones")
    misses: list[TriedEvent] = Field(description=f"Those that do not, at most {_SHOWN}, and fewer large ones")
    rows: list[dict[str, Any]] | None = Field(default=None, description=f"For joins: results, at most {_SHOWN}")


def newest_within(recent: pa.Table) -> pa.Table:
    """Of records, the newest that weigh no more than `EXAMINED`: a thousand of the largest would be a gigabyte."""
    weights = pc.cumulative_sum(pc.binary_length(recent["body"]).cast(pa.int64())[::-1])
    return recent.slice(len(recent) - (pc.sum(pc.less_equal(weights, EXAMINED)).as_py() or 0))


def tried(bench: Bench, read: ReadFilter, recent: pa.Table) -> TriedFilter:
    """A filter on records of the event log; a join on the rows that its tables have now."""
    if read.kind == "join":
        now = JoinedNow(bench, read.matched)
        return TriedFilter(
            canonical=read.canonical,
            examined=now.examined,
            matched=len(now.rows),
            events=[],
            misses=[],
            rows=now.rows[:_SHOWN],
        )
    # Under today's schema: what was published under an earlier one is an event of this one too, with the same values.
    checked = bench.schema.check_json(recent["body"], ignore_unknown=True)
    index, valid = index_of(bench, read), checked.valid_rows
    bound: dict[int, dict[str, Any]] = {}
    rows: list[int] = []
    first = 0
    for start, matches in newest_first(index, checked.valid, calls=read.kind == "operator"):
        rows += [valid[start + place].as_py() for place in matches.to_arrow()["event"].to_pylist()]
        bound |= {valid[start + one.event].as_py(): json_bindings(one.variables) for one in matches.bindings()}
        first = valid[start].as_py() if start else 0
    others = set(range(first, len(recent))).difference(rows)
    return TriedFilter(
        canonical=read.canonical,
        examined=len(recent) - first,
        matched=len(rows),
        events=_newest(recent, sorted(rows), bound),
        misses=_newest(recent, sorted(others), {}),
    )


def _newest(recent: pa.Table, rows: list[int], bound: dict[int, dict[str, Any]]) -> list[TriedEvent]:
    shown: list[TriedEvent] = []
    left = _SHOWN_BYTES
    for place in rows[::-1][:_SHOWN]:
        (row,) = recent.slice(place, 1).to_pylist()
        left -= len(row["body"])
        if left < 0 and shown:
            break
        event = published_event(row["body"])
        shown.append(TriedEvent(id=row["id"], time=row["time"], event=event, bindings=bound.get(place)))
    return shown
