"""Auctions of antiques and furniture: Le Subscribe's own example, and what `make demo` shows."""

from __future__ import annotations

import itertools

import pyarrow as pa

from tamis.workloads.auction_catalogue import auction_schema
from tamis.workloads.auction_lots import interests, json_lines, lots
from tamis.workloads.workload import Workload, numbered

__all__ = ["auction_schema", "auctions", "interests", "json_lines", "lots"]


def auctions(subscriptions: int, events: int, seed: int = 1) -> Workload:
    """Subscriptions in the whole language, events of one or two types, some attributes absent or many-valued."""
    schema = auction_schema()
    texts = pa.array(itertools.islice(interests(seed), subscriptions), pa.string())
    rows = schema.to_arrow(list(itertools.islice(lots(seed), events)))
    return Workload("auctions", schema, numbered(texts), pa.Table.from_batches([rows]))
