"""Conjunctions as events of the index of corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.routing.covering.search.ground import Ground
from tamis.routing.covering.search.kernels import corners, members_of, patterns_of

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

_NONE32 = np.zeros(0, np.int32)


@dataclass(frozen=True)
class Probes:
    """Conjunctions as events of the index: codes, and sets, as in `columnar.encoding.columns.Encoded`."""

    codes: Int32s
    set_ends: Int64s
    set_codes: Int32s

    @classmethod
    def of(cls, chosen: Int64s, ground: Ground) -> Probes:
        codes = np.empty((len(chosen), ground.singles + 1), np.int32)
        corners(chosen, ground.facts, ground.sets, ground.layout, codes)
        count = ground.columns - ground.singles
        ends = np.zeros((count, len(chosen) + 1), np.int64)
        pieces, base = [_NONE32], 0
        _, _, members, patterns = ground.layout
        for attribute, column in (*enumerate(members), *enumerate(patterns)):
            if column < 0:
                continue
            row = np.zeros(len(chosen) + 1, np.int64)
            piece = _filled(chosen, attribute, ground, row, of_patterns=bool(patterns[attribute] == column))
            ends[column - ground.singles] = row + base
            pieces.append(piece)
            base += len(piece)
        return cls(codes, ends, np.concatenate(pieces))


def _filled(chosen: Int64s, attribute: int, ground: Ground, ends: Int64s, of_patterns: bool) -> Int32s:
    room = 4 * len(chosen) + 64
    while True:
        out = np.empty(room, np.int32)
        if of_patterns:
            end = patterns_of(chosen, attribute, ground.facts, ground.sets, ground.patterns, ends, out)
        else:
            end = members_of(chosen, attribute, ground.facts, ground.sets, ends, out)
        if end >= 0:
            return out[:end]
        room *= 4
