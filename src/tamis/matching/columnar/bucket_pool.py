"""The tables and the pool of a level: entries laid out for the event's way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.matching.codes.codes import MOST_NUMBERED, refuse_excess
from tamis.matching.codes.columns import Encoder, Kind
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.columnar.bucket_kernels import fill_buckets, lay_out, signatures
from tamis.matching.columnar.plan import Entries

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

_PADDING = 128  # words a kernel may read past the end


@dataclass(frozen=True)
class Buckets:
    """`slots`: pairs (key, where the bucket's segments are), a table a group from `slot_starts[g]` on.

    `root`: the bucket every event scans, or -1. `entry_ends` and `positions`: where in the pool each conjunction's
    numbers stand, so that they can be struck out.
    """

    slots: Int64s
    slot_starts: Int64s
    root: int
    pool: Int32s
    entry_ends: Int32s
    positions: Int32s


def fill(conjuncts: Conjuncts, encoder: Encoder, entries: Entries, groups: int) -> Buckets:
    """Lays out the entries of a plan with so many groups."""
    sizes = np.bincount(entries.groups, minlength=groups + 1)
    slots, slot_starts, ends, order = fill_buckets(groups + 1, entries.groups, entries.keys, sizes)
    rows = (conjuncts.offsets, conjuncts.columns, conjuncts.lows, conjuncts.highs)
    special = conjuncts.special
    signature = signatures(entries.conjuncts, entries.masks, rows, special, encoder.singles)
    values, positions = np.empty(len(ends) - 1, np.int64), np.empty(len(entries.groups), np.int64)
    flat = (entries.conjuncts, entries.masks, rows, special, signature, _tops(encoder), encoder.singles, positions)
    pool = lay_out(ends, order, flat, values)
    refuse_excess(max(len(pool), len(positions)), MOST_NUMBERED, "words")
    occupied = np.flatnonzero(slots[::2] != -1)
    slots[2 * occupied + 1] = values[slots[2 * occupied + 1]]
    at_root = occupied[occupied >= slot_starts[groups]]
    return Buckets(
        slots=slots,
        slot_starts=slot_starts,
        root=int(slots[2 * at_root[0] + 1]) if len(at_root) else -1,
        pool=np.concatenate([pool, np.zeros(_PADDING, np.int32)]),
        entry_ends=entries.ends.astype(np.int32),
        positions=positions.astype(np.int32),
    )


def _tops(encoder: Encoder) -> Int64s:
    """The highest code of each single-code column."""
    columns = encoder.columns[: encoder.singles]
    return np.array(
        [1 if c.kind is Kind.VERSUS else 2 * len(encoder.dictionaries[c.attribute]) for c in columns], np.int64
    )
