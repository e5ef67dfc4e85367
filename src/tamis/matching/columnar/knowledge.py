"""What the planner knows of the stream, column by column, in codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import StatisticsError
from tamis.matching.codes.codes import HIGHEST, LOWEST
from tamis.matching.codes.columns import Column, Encoder, Kind
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.columnar.planning_kernels import FINEST
from tamis.matching.statistics import AttributeStatistics, Statistics
from tamis.schema import Schema

UNKNOWN_PRESENCE = 0.5
LEAST_PRESENCE = 0.002
PATTERN_SHARE = 0.01  # of the values match some pattern: nothing is known of it beforehand
ENOUGH_QUANTILES = 50  # fewer say less of the stream than the subscriptions' own bounds do


@dataclass(frozen=True)
class Knowledge:
    """`presence[c]`: share of events with column c. Shares of codes: `shares[share_starts[c] + rank]`.

    `edges[edge_rows[c]]`: codes that cut the column into cells of equal weight; `edge_rows[c]` is -1 where no
    subscription asks for a range.
    """

    presence: npt.NDArray[np.float64]
    share_starts: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]
    edge_rows: npt.NDArray[np.int64]
    edges: npt.NDArray[np.int32]

    def flat(self, singles: int) -> tuple[Any, ...]:
        """What the kernels want of it."""
        return self.edge_rows, self.edges, self.share_starts, self.shares, self.presence, singles


def learn(conjuncts: Conjuncts, encoder: Encoder, schema: Schema, statistics: Statistics | None) -> Knowledge:
    """From the statistics where there are any, else from the subscriptions: they ask for what there is."""
    known = statistics.attributes if statistics is not None else {}
    presence: list[float] = []
    shares: list[npt.NDArray[np.float64]] = []
    rows: list[int] = []
    edges: list[npt.NDArray[np.int32]] = []
    by_column = _bounds_by_column(conjuncts, len(encoder.columns))
    for number, column in enumerate(encoder.columns):
        about = known.get(column.attribute)
        presence.append(_presence(column, known))
        shares.append(_shares(column, encoder, schema, about))
        if len(by_column[number]) and not column.kind.is_set:
            rows.append(len(edges))
            edges.append(_edges(column, encoder, schema, about, by_column[number]))
        else:
            rows.append(-1)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(s) for s in shares])]).astype(np.int64)
    return Knowledge(
        presence=np.maximum(np.array(presence, np.float64), LEAST_PRESENCE),
        share_starts=starts,
        shares=np.concatenate([np.zeros(0), *shares]),
        edge_rows=np.array(rows, np.int64),
        edges=np.array(edges, np.int32).reshape(len(edges), 1 << FINEST),
    )


def _bounds_by_column(conjuncts: Conjuncts, count: int) -> list[npt.NDArray[np.int32]]:
    """The bounds of the true ranges on each column."""
    ranges = conjuncts.lows != conjuncts.highs
    columns = conjuncts.columns[ranges]
    order = np.argsort(columns, kind="stable")
    cuts = np.searchsorted(columns[order], np.arange(1, count))
    lows, highs = conjuncts.lows[ranges][order], conjuncts.highs[ranges][order]
    bounds = []
    for low, high in zip(np.split(lows, cuts), np.split(highs, cuts), strict=True):
        both = np.concatenate([low, high])
        bounds.append(both[(both != LOWEST) & (both != HIGHEST)])
    return bounds if count else []


def _presence(column: Column, known: Any) -> float:
    def of(attribute: str) -> float:
        about = known.get(attribute)
        return float(about.presence) if about is not None else UNKNOWN_PRESENCE

    return of(column.attribute) * (of(column.other) if column.kind is Kind.VERSUS else 1.0)


def _shares(
    column: Column, encoder: Encoder, schema: Schema, about: AttributeStatistics | None
) -> npt.NDArray[np.float64]:
    if column.kind is Kind.PATTERNS:
        return np.full(len(encoder.patterns[column.attribute]), PATTERN_SHARE)
    if column.kind is Kind.VERSUS:
        return np.full(1, 0.5)
    constants = len(encoder.dictionaries[column.attribute])
    shares = np.full(constants, 1.0 / max(1, constants))
    if about is not None and about.heavy and constants:
        codes = _codes(column.attribute, encoder, schema, list(about.heavy))
        weights = np.array(list(about.heavy.values()))
        exact = (codes >= 0) & (codes % 2 == 1)
        heavy = np.zeros(constants, np.bool_)
        heavy[codes[exact] // 2] = True
        # What the heavy values leave is spread evenly over the rest.
        shares[:] = max(1.0 - weights.sum(), 1e-6) / max(1, constants - heavy.sum())
        shares[codes[exact] // 2] = weights[exact]
    return shares


def _edges(
    column: Column, encoder: Encoder, schema: Schema, about: AttributeStatistics | None, bounds: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    if column.kind is Kind.VERSUS:
        source: npt.NDArray[Any] = np.zeros(1, np.int32)
    elif about is not None and len(about.quantiles) > ENOUGH_QUANTILES:
        source = np.sort(_codes(column.attribute, encoder, schema, list(about.quantiles)))
    else:
        source = np.sort(bounds)
    edges = np.full(1 << FINEST, HIGHEST, np.int32)
    if len(source):
        steps = np.arange(1, 1 << FINEST) * len(source) >> FINEST
        edges[:-1] = source[np.minimum(steps, len(source) - 1)]
    return edges


def _codes(attribute: str, encoder: Encoder, schema: Schema, values: list[Any]) -> npt.NDArray[np.int32]:
    domain = schema.attributes[attribute].domain
    kind = pa.int64() if domain.kind == "timestamp" else domain.arrow_type
    try:
        codes, nan = encoder.codes_of(attribute, pa.array(values, kind))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise StatisticsError(f"the statistics of {attribute!r} hold values that it cannot have: {error}") from error
    if nan is not None:
        raise StatisticsError(f"the statistics of {attribute!r} hold NaN, which is no value")
    return codes
