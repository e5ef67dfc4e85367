"""One filter by itself in an index: to explain it, or to try it on what was published last."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from math import inf
from typing import Final

import pyarrow as pa

import tamis
from tamis.matching.matches import Matches
from tamis.operators import Operator
from tamis.service.api.language import ReadFilter
from tamis.service.api.service import Service

ID: Final = "f"

_BY_HAND: Final = 500  # characters
_CALL_SECONDS: Final = 5.0
_SECONDS: Final = 10.0
_AT_ONCE: Final = 20


def index_of(service: Service, filter: ReadFilter) -> tamis.Index:
    """The filter under the id `ID`. Somebody waits for what it says: operators have no more than some seconds a call.

    Learned costs, and selectivities, are what matching has found them to be. `FilterError` if the filter cannot be read
    any more, because it calls what is no longer offered.
    """
    texts, limits, schema = {ID: filter.matched}, service.limits.filter, service.schema
    if filter.kind == "operator":
        operators = [_impatient(service, one) for one in service.offering.operators or ()]
        index = tamis.compile(texts, schema, limits=limits, operators=operators)
    else:
        # To load the kernels takes longer than to look at a thousand events with a filter that people write by hand.
        matcher = "naive" if len(filter.matched) <= _BY_HAND else "columnar"
        index = tamis.compile(texts, schema, matcher=matcher, limits=limits)
    for _, error in index.errors:
        raise error
    return index


def newest_first(index: tamis.Index, events: pa.RecordBatch, *, calls: bool) -> Iterator[tuple[int, Matches]]:
    """What of the events matches: the row of the first of some, and the matches among them.

    All at once; or, where operators are called, from the last ones on, as many as there is time for.
    """
    if not calls:
        yield 0, index.match(events)
        return
    until, end = inf, len(events)
    while end > 0 and time.monotonic() < until:
        start = max(0, end - _AT_ONCE)
        yield start, index.match(events.slice(start, end - start))
        end = start
        # Only now: to load kernels and models for the first call may take longer than all that follow.
        until = min(until, time.monotonic() + _SECONDS)


def _impatient(service: Service, operator: Operator) -> Operator:
    limit = _CALL_SECONDS if operator.time_limit is None else min(_CALL_SECONDS, operator.time_limit)
    fared = service.supervisor.status().operators.get(operator.name)
    cost = operator.cost if operator.cost is not None or fared is None else fared.cost
    likely = operator.selectivity if fared is None or fared.selectivity is None else fared.selectivity
    return dataclasses.replace(operator, time_limit=limit, cost=cost, selectivity=likely)
