"""Common parts of P4's experiments: the paper's subscription sets as filters, and their covering and merging."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from tamis.language import Filter, normalise, parse, print_filter
from tamis.language.predicates import Literal, sort_key
from tamis.matching.base.statistics import AttributeStatistics, Statistics
from tamis.routing.merging import MergePolicy, MergingTable, Rules
from tamis.workloads import Workload, padres_sets
from tamis.workloads.stock_quotes import ATTRIBUTES, SET_A, SET_B

SETS = {"A": SET_A, "B": SET_B}
NONE, COVERING, PERFECT, RANDOM, IMPERFECT, EVERY_SIDE = (
    "none", "covering", "perfect", "random", "imperfect", "every side",
)  # fmt: skip
METHODS = {
    NONE: "no covering",
    COVERING: "covering",
    PERFECT: "perfect merging",
    RANDOM: "perfect merging, random attribute order",
    IMPERFECT: "imperfect merging",
    EVERY_SIDE: "perfect merging on every side (Tamis)",
}
IMT = 0.1  # of imperfect merging, where the paper does not say it
NAMES = tuple(f"a{k}" for k in range(ATTRIBUTES))

GENERATOR = """\
Exactly 2 of 20 attributes a subscription, `=` with probability .97, else `<` or `>`, integers uniform on 33 values (set
A, 1,980 distinct predicates) or 83 (set B, some 4,900): the details of the paper's generator are lost, and this simple
reading comes closest to its rates."""


@lru_cache(maxsize=2)
def workload(values: int, subscriptions: int, events: int = 1, published: int = 3, conditions: int = 2) -> Workload:
    return padres_sets(subscriptions, events, values=values, published=published, conditions=conditions)


@lru_cache(maxsize=1)
def filters(values: int, subscriptions: int) -> list[tuple[str, Filter]]:
    """Ids and normal forms; conditions repeat, and each is parsed once."""
    chosen = workload(values, subscriptions)
    known: dict[str, Literal] = {}

    def literal(text: str) -> Literal:
        if text not in known:
            ((known[text],),) = normalise(parse(text, chosen.schema), chosen.schema).conjuncts
        return known[text]

    texts = zip(chosen.subscriptions["id"].to_pylist(), chosen.subscriptions["filter"].to_pylist(), strict=True)
    return [
        (id, Filter((tuple(sorted({literal(part) for part in text.split(" AND ")}, key=sort_key)),)))
        for id, text in texts
    ]


def uniform(values: int) -> Statistics:
    """Statistics of the paper's assumption: every attribute of a publication is present, and uniform on its values."""
    about = AttributeStatistics(1.0, dict.fromkeys(range(values), 1 / values))
    return Statistics(1, dict.fromkeys(NAMES, about))


def inserted(values: int, subscriptions: int, policy: MergePolicy) -> MergingTable:
    """Merging table with all subscriptions, before any merging."""
    table = MergingTable(workload(values, subscriptions).schema, policy, uniform(values))
    for id, filter in filters(values, subscriptions):
        table.insert(id, filter)
    return table


def policy(method: str, imt: float = IMT) -> MergePolicy:
    """Merging policy along the topmost attribute, as output nodes with one child are merged, or on every side."""
    order = list(NAMES)
    if method == RANDOM:
        order = [NAMES[k] for k in np.random.default_rng(1).permutation(ATTRIBUTES)]
    allowed = imt if method == IMPERFECT else 0.0
    return MergePolicy(allowed, Rules.TABLE_1, every=None, order=order, every_side=method == EVERY_SIDE)


def left(method: str, values: int, subscriptions: int) -> list[tuple[str, Filter]]:
    """Filters of the routing table under a method."""
    if method == NONE:
        return filters(values, subscriptions)
    table = inserted(values, subscriptions, policy(method))
    if method != COVERING:
        table.merge()
    return list(table.forwarded())


def raised(table: MergingTable, thresholds: Sequence[float]) -> Iterator[MergingTable]:
    """Table merged at one threshold after the other, each from the result of the one before."""
    for imt in thresholds:
        table.adopt(policy(IMPERFECT, imt))
        table.merge()
        yield table


def as_table(some: list[tuple[str, Filter]], chosen: Workload) -> pa.Table:
    """Filters as texts again, for building an index."""
    return pa.table(
        {"id": [id for id, _ in some], "filter": [print_filter(filter, chosen.schema) for _, filter in some]}
    )
