"""Pairs drawn from a seed, as segments and as plain sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.matchlog import Segment, built
from tamis.matchlog.segment import Content, encoded

Lists = Sequence[Sequence[int]]
"""Of each event the numbers of the subscriptions that it matched."""


@dataclass(frozen=True)
class Plain:
    """What a segment is to hold: position → numbers, and the ids, times and bodies of the events."""

    lists: dict[int, set[int]]
    told: dict[int, tuple[str, int, str]]


def plain(lists: Lists, first: int = 1, step: int = 1) -> Plain:
    positions = [first + rank * step for rank in range(len(lists))]
    told = {at: (f"id-{at}", 1_000_000 * at, "ü" * (at % 7) + str(at)) for at in positions}
    return Plain({at: set(some) for at, some in zip(positions, lists, strict=True)}, told)


def content(of: Plain, shuffled: int = 0) -> Content:
    rng = np.random.default_rng(shuffled)
    lists: list[Any] = [rng.permutation(sorted(some)) for some in of.lists.values()]
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    numbers = np.concatenate([np.empty(0, np.int64), *lists]).astype(np.int64)
    ids, times, bodies = zip(*of.told.values(), strict=True)
    positions = np.array(list(of.lists), np.int64)
    return built(positions, offsets, numbers, np.array(times, np.int64), pa.array(ids), pa.array(bodies))


def segment(of: Content) -> Segment:
    return Segment(memoryview(b"".join(encoded(of))))


def pairs(of: Segment) -> dict[int, set[int]]:
    """All that the order by event has."""
    found: dict[int, set[int]] = {at: set() for at in of.positions.tolist()}
    ranks, numbers = of.pairs_between((0, of.events), of.pairs)
    for rank, number in zip(ranks.tolist(), numbers.tolist(), strict=True):
        found[int(of.positions[rank])].add(number)
    return found
