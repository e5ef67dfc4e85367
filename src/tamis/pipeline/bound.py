"""Bound filters in transit: made by workers, joined on the driver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language import Block, Bound, Filter
from tamis.language.columns import Column


def joined_bounds(parts: Sequence[Bound]) -> Bound:
    """All texts of the parts, one part after the other; blocks of one template become one."""
    blocks: dict[Filter, list[Block]] = {}
    terms: dict[Filter, list[Block]] = {}
    whole = Bound(sum(part.count for part in parts))
    first = 0
    for part in parts:
        for found, given in ((blocks, part.blocks), (terms, part.terms)):
            for block in given:
                found.setdefault(block.template, []).append(Block(block.rows + first, block.template, block.columns))
        whole.errors.extend((row + first, error) for row, error in part.errors)
        first += part.count
    whole.blocks.extend(_joined_blocks(same) for same in blocks.values())
    whole.terms.extend(_joined_blocks(same) for same in terms.values())
    return whole


def only_rows(bound: Bound, kept: npt.NDArray[np.int64]) -> Bound:
    """The texts of these rows (ascending), numbered anew."""
    place = np.full(bound.count, -1, np.int64)
    place[kept] = np.arange(len(kept))
    fewer = Bound(len(kept))
    for given, taken in ((bound.blocks, fewer.blocks), (bound.terms, fewer.terms)):
        for block in given:
            chosen = np.flatnonzero(place[block.rows] >= 0)
            if len(chosen):
                columns = tuple(column.take(chosen) for column in block.columns)
                taken.append(Block(place[block.rows[chosen]], block.template, columns))
    fewer.errors.extend((int(place[row]), error) for row, error in bound.errors if place[row] >= 0)
    return fewer


def _joined_blocks(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    rows = np.concatenate([block.rows for block in blocks])
    columns = zip(*(block.columns for block in blocks), strict=True)
    return Block(rows, blocks[0].template, tuple(_joined_columns(column) for column in columns))


def _joined_columns(columns: Sequence[Column]) -> Column:
    if isinstance(columns[0], pa.Array):
        return pa.concat_arrays(columns)
    return np.concatenate(columns)
