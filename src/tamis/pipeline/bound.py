"""Bound filters in transit: made by workers, joined on the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language import Block, Bound, CalledBlock, Filter
from tamis.language.cutting import Column

AnyBlock = TypeVar("AnyBlock", Block, CalledBlock)
Form: TypeAlias = tuple[Filter, tuple[Any, ...]]
"""A template, and the types of the columns beside it. Texts of different shapes may come to one template: what is
redundant, or contradicts itself, leaves no slot in it, yet each shape has a column for each of its own literals."""


def joined_bounds(parts: Sequence[Bound]) -> Bound:
    """All texts of the parts, one part after the other; plain blocks of one form become one."""
    blocks: dict[Form, list[Block]] = {}
    terms: dict[Form, list[Block]] = {}
    whole = Bound(sum(part.count for part in parts))
    first = 0
    for part in parts:
        for found, given in ((blocks, part.blocks), (terms, part.terms)):
            for block in given:
                found.setdefault(_form(block), []).append(replace(block, rows=block.rows + first))
        # Not joined: equal templates may differ in what their texts call the variables.
        whole.called.extend(replace(block, rows=block.rows + first) for block in part.called)
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
    fewer.blocks.extend(_only(bound.blocks, place))
    fewer.terms.extend(_only(bound.terms, place))
    fewer.called.extend(_only(bound.called, place))
    fewer.errors.extend((int(place[row]), error) for row, error in bound.errors if place[row] >= 0)
    return fewer


def _only(blocks: Sequence[AnyBlock], place: npt.NDArray[np.int64]) -> Iterator[AnyBlock]:
    """The rows that have a place, there."""
    for block in blocks:
        chosen = np.flatnonzero(place[block.rows] >= 0)
        if len(chosen):
            columns = tuple(column.take(chosen) for column in block.columns)
            yield replace(block, rows=place[block.rows[chosen]], columns=columns)


def _form(block: Block) -> Form:
    types = (column.type if isinstance(column, pa.Array) else column.dtype for column in block.columns)
    return block.template, tuple(types)


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
