"""The join subscriptions of a snapshot, as a worker has them open."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from tamis.joins.saved import read_joins
from tamis.language.joins import are_joins
from tamis.pipeline.table.changes import read_change
from tamis.pipeline.table.snapshot import Part

_KEPT = 2  # the newest version and the one before it: a replay may run beside a first run
_OPEN: OrderedDict[Part, Mapping[str, str]] = OrderedDict()


def join_texts(part: Part) -> Mapping[str, str]:
    """Texts by id; the same mapping for the same part, as long as it is kept."""
    texts = _OPEN.pop(part, None)
    if texts is None:
        texts = dict(_pairs(read_joins(part.base)))
        for path in part.changes:
            removed, added = read_change(path)
            for id in removed:
                texts.pop(id, None)
            chosen = np.flatnonzero(are_joins(added["filter"]))
            texts.update(_pairs(added.take(pa.array(chosen))))
    _OPEN[part] = texts
    while len(_OPEN) > _KEPT:
        _OPEN.popitem(last=False)
    return texts


def _pairs(table: pa.Table) -> zip[tuple[str, str]]:
    return zip(table["id"].to_pylist(), table["filter"].to_pylist(), strict=True)
