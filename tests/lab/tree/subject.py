"""Trees to test: built from texts or workloads, with options, and beside the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tamis.lab.tree.matcher import TreeMatcher
from tamis.lab.tree.tree import TreeOptions
from tamis.language import bind
from tamis.matching.base.matcher import Matches, Subscriptions
from tamis.schema import Schema
from tamis.workloads import Workload

EVERY_WAY = (
    TreeOptions(),
    TreeOptions(successors=False),
    TreeOptions(collapse=False),
    TreeOptions(collapse=False, successors=False),
    TreeOptions(related="none"),
    TreeOptions(related="all"),
    TreeOptions(general=True),
    TreeOptions(general=True, related="all", collapse=False),
)


def bound(texts: Mapping[str, str], schema: Schema) -> Subscriptions:
    ids, filters = (pa.array(list(some), pa.large_string()) for some in (texts, texts.values()))
    return Subscriptions(ids, filters, bind(filters, schema))


def subscriptions_of(workload: Workload) -> Subscriptions:
    ids, filters = (workload.subscriptions[name].combine_chunks().cast(pa.large_string()) for name in ("id", "filter"))
    return Subscriptions(ids, filters, bind(filters, workload.schema))


def grown(texts: Mapping[str, str], schema: Schema, options: TreeOptions) -> TreeMatcher:
    return TreeMatcher.build(bound(texts, schema), schema, None, options)


def matches(matcher: TreeMatcher, events: Sequence[Mapping[str, Any]] | pa.Table, schema: Schema) -> Matches:
    return matcher.match(schema.to_arrow(events))


def answers(matcher: TreeMatcher, events: Sequence[Mapping[str, Any]] | pa.Table, schema: Schema) -> list[list[str]]:
    return [sorted(ids) for ids in matches(matcher, events, schema).to_lists()]
