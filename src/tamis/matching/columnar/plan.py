"""Planner of the columnar index: knowledge of the stream, and the groups to look conjunctions up by, chosen by cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int32s, Int64s
from tamis.errors import StatisticsError
from tamis.matching.base.statistics import AttributeStatistics, Statistics
from tamis.matching.codes.columns import Column, Encoder, Kind
from tamis.matching.codes.encoding import HIGHEST, LOWEST, Conjuncts
from tamis.matching.columnar.planning_kernels import (
    DIMENSION_BITS,
    FINEST,
    MOST_WAYS,
    NARROW_BITS,
    choose,
    deal,
    mix,
    sample_ways,
)
from tamis.schema import Schema

# The planner's knowledge of the stream, column by column, in codes.

UNKNOWN_PRESENCE = 0.5
LEAST_PRESENCE = 0.002
PATTERN_SHARE = 0.01  # of the values match some pattern: nothing is known of it beforehand
ENOUGH_QUANTILES = 50  # fewer say less of the stream than the subscriptions' own bounds do


@dataclass(frozen=True)
class Knowledge:
    """Statistics of the stream by column, in codes.

    `presence[c]`: share of events with column c. Shares of codes: `shares[share_starts[c] + rank]`.
    `edges[edge_rows[c]]`: codes that cut the column into cells of equal weight; `edge_rows[c]` is -1 where no
    subscription asks for a range.
    """

    presence: npt.NDArray[np.float64]
    share_starts: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]
    edge_rows: npt.NDArray[np.int64]
    edges: npt.NDArray[np.int32]

    def flat(self, singles: int) -> tuple[Any, ...]:
        """The arrays that kernels take, in their order."""
        return self.edge_rows, self.edges, self.share_starts, self.shares, self.presence, singles


def learn(conjuncts: Conjuncts, encoder: Encoder, schema: Schema, statistics: Statistics | None) -> Knowledge:
    """Knowledge from the statistics if there are any, else from the subscriptions: they ask for values that exist."""
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


SAMPLE = 30_000
SCANNED = 512  # up to so many conjunctions a plain scan is as good as any plan


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of matching steps in nanoseconds, measured on one machine and rounded: only their ratios matter."""

    verify: float = 1.2
    probe: float = 12.0
    hit: float = 150.0
    check: float = 3.0


LARGE = Costs()
SMALL = Costs(probe=5.0, hit=40.0)  # where everything stays in cache
SMALL_LEVEL = 30_000


@dataclass(frozen=True)
class Entries:
    """Conjunctions dealt to groups: one entry for each cell that a conjunction touches in its group.

    The last number in `groups` is the root: entries every event looks at. Entries of a conjunction are consecutive, up
    to `ends[c + 1]`.
    """

    groups: Int32s
    keys: Int64s
    conjuncts: Int32s
    masks: Int64s
    ends: Int64s


@dataclass(frozen=True)
class Plan:
    """The chosen groups, by the column they hang under: an event without that column never looks at them.

    `starts[c]:starts[c + 1]` are the groups under column c. A group has up to three dimensions. The kernels hold an
    event's codes and, after them, its quantile cells (the cell of column c at `cells + c`) in one array of words;
    dimension i of group g is word `sources[g, i]`, shifted right by `levels[g, i]` and left by `places[g, i]` into the
    group's key. An unused dimension is the word after the codes, which is 0. `sets[g]` is the set column among the
    dimensions, whose codes are shifted left by `set_places[g]`, or -1.
    """

    starts: Int64s
    sources: Int64s
    levels: Int64s
    places: Int64s
    sets: Int64s
    set_places: Int64s

    def __len__(self) -> int:
        return len(self.sets)

    def range_columns(self, cells: int) -> Int64s:
        """Columns that some group looks up by quantile cell; cells begin after so many words."""
        return np.unique(self.sources[self.sources >= cells]) - cells


def plan(conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Plan, Entries]:
    """Chooses groups for the conjunctions and deals them out."""
    keys = _chosen(conjuncts, encoder, knowledge) if len(conjuncts) > SCANNED else np.zeros(0, np.int64)
    dims = np.stack([(keys >> (DIMENSION_BITS * i)) & ((1 << DIMENSION_BITS) - 1) for i in range(3)], axis=1)
    presence = np.where(dims > 0, knowledge.presence[dims >> 4], 2.0)
    rarest = np.take_along_axis(dims >> 4, presence.argmin(1)[:, None], 1)[:, 0]
    order = np.argsort(rarest, kind="stable")
    keys, dims, rarest = keys[order], dims[order], rarest[order]
    levels, columns, used = (dims & 15) - 1, dims >> 4, dims > 0
    is_set = used & (columns >= encoder.singles)
    sizes = used.sum(1)
    bits = np.select([sizes == 1, sizes == 2], [0, 31], NARROW_BITS)
    places = np.maximum(sizes[:, None] - 1 - np.arange(3), 0) * bits[:, None]
    sources = np.where(levels > 0, encoder.singles + 1 + columns, columns)
    chosen = Plan(
        starts=np.searchsorted(rarest, np.arange(len(encoder.columns) + 1)).astype(np.int64),
        sources=np.where(used & ~is_set, sources, encoder.singles).astype(np.int64),
        levels=np.where(levels > 0, FINEST - levels, 0).astype(np.int64),
        places=places.astype(np.int64),
        sets=np.where(is_set.any(1), (columns * is_set).max(1, initial=0), -1).astype(np.int64),
        set_places=(places * is_set).max(1, initial=0).astype(np.int64),
    )
    return chosen, _entries(conjuncts, encoder, knowledge, keys)


def _chosen(conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> Int64s:
    count = len(conjuncts)
    sample = (
        np.arange(count) if count <= SAMPLE else np.sort(np.random.default_rng(0).choice(count, SAMPLE, replace=False))
    )
    most = len(sample) * MOST_WAYS
    keys, odds, places = np.empty(most, np.int64), np.empty(most), np.empty(most, np.int64)
    narrow = _narrow(encoder)
    n = sample_ways(sample, flat(conjuncts), knowledge.flat(encoder.singles), narrow, keys, odds, places)
    distinct, group = np.unique(keys[:n], return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(group, minlength=len(distinct)))])
    costs = SMALL if count <= SMALL_LEVEL else LARGE
    together, rarest = np.ones(len(distinct)), np.ones(len(distinct))
    for i in range(3):
        dimension = (distinct >> (DIMENSION_BITS * i)) & ((1 << DIMENSION_BITS) - 1)
        presence = np.where(dimension > 0, knowledge.presence[dimension >> 4], 1.0)
        together *= presence
        rarest = np.minimum(rarest, presence)
    fixed = together * costs.probe + rarest * costs.check
    scale = count / max(1, len(sample))
    chosen = choose(
        starts, places[:n][order], odds[:n][order], len(sample), scale, costs.verify, costs.hit, fixed, together
    )
    return distinct[chosen]


def _entries(conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge, keys: Int64s) -> Entries:
    size = 4
    while size < 4 * len(keys):
        size *= 2
    table_keys, table_groups = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    for group, key in enumerate(keys.tolist()):
        slot = int(mix(key)) & (size - 1)
        while table_keys[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table_keys[slot], table_groups[slot] = key, group
    fixed = (flat(conjuncts), knowledge.flat(encoder.singles), _narrow(encoder), table_keys, table_groups, len(keys))
    ends = np.zeros(len(conjuncts) + 1, np.int64)
    none32, none64 = np.zeros(0, np.int32), np.zeros(0, np.int64)
    count = deal(*fixed, none32, none64, none32, none64, ends, False)
    groups, members = np.empty(count, np.int32), np.empty(count, np.int32)
    cells, masks = np.empty(count, np.int64), np.empty(count, np.int64)
    deal(*fixed, groups, cells, members, masks, ends, True)
    return Entries(groups, cells, members, masks, ends)


def _narrow(encoder: Encoder) -> npt.NDArray[np.bool_]:
    """Columns whose codes fit thrice into a key."""
    most = [len(encoder.dictionaries.get(c.attribute, ())) for c in encoder.columns]
    patterns = [len(encoder.patterns.get(c.attribute, ())) for c in encoder.columns]
    codes = 2 * np.maximum(np.array(most, np.int64), np.array(patterns, np.int64)) + 2
    return codes < (1 << NARROW_BITS)


def flat(conjuncts: Conjuncts) -> tuple[Any, ...]:
    """Arrays of the conjunctions that kernels take, in their order."""
    c = conjuncts
    return (
        c.offsets, c.columns, c.lows, c.highs, c.test_offsets, c.tests, c.test_columns, c.test_flags, c.test_lows,
        c.test_highs, c.listed,
    )  # fmt: skip
