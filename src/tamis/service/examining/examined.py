"""One filter by itself in an index: to explain it, or to try it on what was published last."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import Final

import pyarrow as pa

import tamis
from tamis.matching.base.matches import Matches
from tamis.operators import Operator
from tamis.operators.caller import prepare
from tamis.service.examining.bench import Bench
from tamis.service.examining.language import ReadFilter

ID: Final = "f"

_BY_HAND: Final = 500  # characters
_CALL_SECONDS: Final = 5.0
_SECONDS: Final = 10.0
_AT_ONCE: Final = 20
_OPERATOR_SECONDS: Final = 60.0  # for a question on operators, whose calls have limits of their own


def index_of(bench: Bench, filter: ReadFilter) -> tamis.Index:
    """The filter under the id `ID`. Somebody waits for what it says: operators have no more than some seconds a call.

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
    """Has those operators load their models that the filter calls, which is not on the account of whoever asks."""
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
    """What of the events matches: the row of the first of some, and the matches among them.

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
