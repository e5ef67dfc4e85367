"""The indexes that this worker process has open. Spark keeps workers alive between tasks, and so the indexes."""

from __future__ import annotations

from collections import OrderedDict

from tamis.engine import Index
from tamis.pipeline.snapshot import Part
from tamis.pipeline.table.changes import apply_change

# The newest version and the one before it: a replay may run beside a first run.
_KEPT = 2

_OPEN: OrderedDict[Part, Index] = OrderedDict()


def opened(part: Part, alone: bool = False) -> Index:
    """The part's index, mapped into memory. `alone` closes all others first: for shards, which fit only one by one.

    An open older state of the same base is brought up to date, so a change costs what it changes.
    """
    index = _OPEN.pop(part, None)
    if alone:
        _OPEN.clear()
    if index is None:
        older = _older(part)
        if older is None:
            # The driver verified the checksums when it took the snapshot.
            index, applied = Index.open(part.base, verify=False), 0
        else:
            index, applied = _OPEN.pop(older), len(older.changes)
        for change in part.changes[applied:]:
            apply_change(index, change)
    _OPEN[part] = index
    while len(_OPEN) > _KEPT:
        _OPEN.popitem(last=False)
    return index


def _older(part: Part) -> Part | None:
    states = [
        other
        for other in _OPEN
        if other.base == part.base and other.changes == part.changes[: len(other.changes)] and other != part
    ]
    return max(states, key=lambda other: len(other.changes), default=None)
