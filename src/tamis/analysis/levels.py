"""Subscriptions as one level of the columnar index: what everything here is computed from."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tamis.engine import Index, compile
from tamis.matching.columnar.index import ColumnarMatcher
from tamis.matching.columnar.level import Level


def one_level(indexes: Sequence[Index]) -> Level:
    """All subscriptions of some indexes under one schema, in one level. The indexes themselves stay as they are."""
    levels = [_columnar(index).folded() for index in indexes]
    return levels[0] if len(levels) == 1 else ColumnarMatcher(indexes[0].schema, levels, None).folded()


def _columnar(index: Index) -> ColumnarMatcher:
    matcher = index.matcher
    if not isinstance(matcher, ColumnarMatcher):
        ids = index.ids()
        texts = pa.array([index.text(id) for id in ids.to_pylist()], pa.large_string())
        matcher = compile(pa.table({"id": ids, "filter": texts}), index.schema).matcher
        assert isinstance(matcher, ColumnarMatcher)
    return matcher
