"""The plan of a level: which groups of conditions to look conjunctions up by, chosen by their cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.columnar.knowledge import Knowledge
from tamis.matching.columnar.planning_kernels import (
    DIMENSION_BITS,
    FINEST,
    MOST_WAYS,
    NARROW_BITS,
    choose,
    deal,
    mix,
    sample_ways,
)  # fmt: skip

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

SAMPLE = 30_000
SCANNED = 512  # up to so many conjunctions a plain scan is as good as any plan


@dataclass(frozen=True, slots=True)
class Costs:
    """Nanoseconds, measured on one machine and rounded: only their ratios matter."""

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

    `groups` of the last number is the root: entries every event looks at. Entries of a conjunction are consecutive,
    up to `ends[c + 1]`.
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
        """The columns that some group looks up by quantile cell, where cells begin after so many words."""
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
    """What the kernels want of the conjunctions."""
    c = conjuncts
    return (
        c.offsets, c.columns, c.lows, c.highs, c.test_offsets, c.tests, c.test_columns, c.test_flags, c.test_lows,
        c.test_highs, c.listed,
    )  # fmt: skip
