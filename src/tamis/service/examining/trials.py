"""Trials of filters on the newest published events: which match, and which do not."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from math import inf
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field

import tamis
from tamis.matching.base.matcher import Matches
from tamis.operators import Operator
from tamis.operators.caller import prepare
from tamis.operators.values import json_bindings
from tamis.service.base.events import published_event
from tamis.service.examining.joins import JoinedNow
from tamis.service.examining.language import Bench, ReadFilter

# Index of a single filter, to explain it or to try it on the newest events.

ID: Final = "f"

_BY_HAND: Final = 500  # characters
_CALL_SECONDS: Final = 5.0
_SECONDS: Final = 10.0
_AT_ONCE: Final = 20
_OPERATOR_SECONDS: Final = 60.0  # for a question on operators, whose calls have limits of their own


def index_of(bench: Bench, filter: ReadFilter) -> tamis.Index:
    """Index of the filter under the id `ID`. A user waits for its answers: operators have only some seconds a call.

    Learned costs, and selectivities, are what matching has found them to be. `FilterError` if the filter cannot be read
    any more, because it calls what is no longer offered.
    """
    texts, limits, schema = {ID: filter.matched}, bench.limits.filter, bench.schema
    if filter.kind == "operator":
        operators = [_impatient(bench, one) for one in bench.offering.operators or ()]
        _prepare(bench, filter, operators)
        index = tamis.compile(texts, schema, limits=limits, operators=operators)
    else:
        # To load the kernels takes longer than to look at a thousand events with a filter that people write by hand.
        matcher = "naive" if len(filter.matched) <= _BY_HAND else "columnar"
        if matcher == "columnar":
            _load_kernels(bench)
        index = tamis.compile(texts, schema, matcher=matcher, limits=limits)
    for _, error in index.errors:
        raise error
    return index


def _prepare(bench: Bench, filter: ReadFilter, operators: Sequence[Operator]) -> None:
    """Has the operators that the filter calls load their models, outside the user's time limit."""
    bench.loading()
    for operator in operators:
        if operator.name in filter.text:
            # Whoever calls it finds the same, and says so.
            with suppress(Exception):
                prepare(operator)
    bench.begun(_OPERATOR_SECONDS)


def _load_kernels(bench: Bench) -> None:
    if not bench.columnar:
        bench.loading()
        schema = bench.schema
        tamis.compile({ID: "TRUE"}, schema, matcher="columnar").match(schema.to_arrow([{}]))
        bench.columnar = True
        bench.begun(None)


def newest_first(index: tamis.Index, events: pa.RecordBatch, *, calls: bool) -> Iterator[tuple[int, Matches]]:
    """Matches among the events, as pairs of a first row and the matches from there on.

    All at once; or, where operators are called, from the last ones on, as many as there is time for.
    """
    if not calls:
        yield 0, index.match(events)
        return
    until, end, some = inf, len(events), 1
    while end > 0 and time.monotonic() < until:
        start = max(0, end - some)
        yield start, index.match(events.slice(start, end - start))
        # Few at first: operators that are slow on each would otherwise have used up the time before the first answer.
        end, some = start, min(2 * some, _AT_ONCE)
        # Only now: to load kernels and models for the first call may take longer than all that follow.
        until = min(until, time.monotonic() + _SECONDS)


def _impatient(bench: Bench, operator: Operator) -> Operator:
    limit = _CALL_SECONDS if operator.time_limit is None else min(_CALL_SECONDS, operator.time_limit)
    cost, selectivity = bench.learned.get(operator.name, (None, None))
    if operator.cost is not None:
        cost = operator.cost
    likely = operator.selectivity if selectivity is None else selectivity
    return dataclasses.replace(operator, time_limit=limit, cost=cost, selectivity=likely)


_SHOWN: Final = 50
_SHOWN_BYTES: Final = 1 << 20  # of matches, and of misses
EXAMINED: Final = 16 << 20
"""Bytes of events that a filter is tried on."""


class TriedEvent(BaseModel):
    """Recent event; `bindings` are the values of the filter's variables, if it has any and matches."""

    id: str
    time: datetime
    event: dict[str, Any]
    bindings: dict[str, Any] | None = None


class TriedFilter(BaseModel):
    """Newest events that match, and those that do not, newest first."""

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
        description="Number of events evaluated: with operators, those that time allowed; for joins, rows of tables"
    )
    matched: int = Field(description="Number of matching events; for joins, of results")
    events: list[TriedEvent] = Field(description=f"Matching events, at most {_SHOWN}, and fewer large ones")
    misses: list[TriedEvent] = Field(description=f"Other events, at most {_SHOWN}, and fewer large ones")
    rows: list[dict[str, Any]] | None = Field(default=None, description=f"For joins: results, at most {_SHOWN}")


def newest_within(recent: pa.Table) -> pa.Table:
    """Newest of some records that weigh at most `EXAMINED`: a thousand of the largest would be a gigabyte."""
    weights = pc.cumulative_sum(pc.binary_length(recent["body"]).cast(pa.int64())[::-1])
    return recent.slice(len(recent) - (pc.sum(pc.less_equal(weights, EXAMINED)).as_py() or 0))


def tried(bench: Bench, read: ReadFilter, recent: pa.Table) -> TriedFilter:
    """Tries a filter on records of the event log, or a join on the current rows of its tables."""
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
    checked = bench.schema.check_json(recent["body"], ignore_unknown=True, judged=True)
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
