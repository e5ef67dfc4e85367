"""Matches as Arrow lists, one list an event: what goes back to the JVM. Flat arrays throughout, no object a match."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.matching.matches import Matches

Rows = npt.NDArray[np.int64]


def id_lists(matches: Matches) -> pa.ListArray:
    """The ids each event matched."""
    return listed_by(matches.offsets, matches.ids(matches.numbers).cast(pa.string()))


def number_lists(matches: Matches, first: int) -> pa.ListArray:
    """The numbers each event matched, counted from `first`."""
    return listed_by(matches.offsets, pa.array((matches.numbers + first).astype(np.int32, copy=False)))


def joined(parts: Sequence[pa.ListArray]) -> pa.ListArray:
    """Row by row the lists of all parts one after the other."""
    if len(parts) == 1:
        return parts[0]
    counts = [np.diff(_offsets(part)) for part in parts]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.sum(counts, axis=0))])
    places, filled = [], offsets[:-1].copy()
    for count in counts:
        starts = filled - (np.cumsum(count) - count)
        places.append(np.repeat(starts, count) + np.arange(int(count.sum())))
        filled += count
    order = np.empty(int(offsets[-1]), np.int64)
    order[np.concatenate(places)] = np.arange(len(order))
    return listed_by(offsets, pa.concat_arrays([part.flatten() for part in parts]).take(pa.array(order)))


def spread(lists: pa.ListArray, rows: Rows, count: int) -> pa.ListArray:
    """The lists put into `count` rows: list i into row `rows[i]` (ascending), empty lists into the others."""
    counts = np.zeros(count, np.int64)
    counts[rows] = np.diff(_offsets(lists))
    return listed_by(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), lists.flatten())


def lengths(lists: pa.ListArray) -> Rows:
    """How long each list is."""
    return np.diff(_offsets(lists))


def listed_by(offsets: Rows, values: pa.Array) -> pa.ListArray:
    """List i is `values[offsets[i]:offsets[i + 1]]`."""
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def _offsets(lists: pa.ListArray) -> Rows:
    return lists.offsets.to_numpy().astype(np.int64)
