"""Subscriptions parted: those that call operators, and those that a plain matcher takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language import Block, Bound
from tamis.matching.matcher import Subscriptions


def plain_part(subscriptions: Subscriptions) -> Subscriptions:
    """Without the rows that call operators; the same object where there are none."""
    bound = subscriptions.bound
    if not bound.called:
        return subscriptions
    plain = np.ones(bound.count, np.bool_)
    for called in bound.called:
        plain[called.rows] = False
    place = np.cumsum(plain) - 1
    left = Bound(
        int(plain.sum()),
        _moved(bound.blocks, place),
        _moved(bound.terms, place),
        errors=[(int(place[row]), error) for row, error in bound.errors],
        limits=bound.limits,
    )
    mask = pa.array(plain)
    return Subscriptions(subscriptions.ids.filter(mask), subscriptions.texts.filter(mask), left)


def _moved(blocks: Sequence[Block], place: npt.NDArray[np.int64]) -> list[Block]:
    return [Block(place[block.rows], block.template, block.columns) for block in blocks]
