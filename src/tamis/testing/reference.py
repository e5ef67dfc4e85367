"""What the oracle answers, for anyone who wants to hold something to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tamis.errors import FilterError
from tamis.language import parse
from tamis.language.tree import Tree
from tamis.matching.event_values import event_values
from tamis.matching.naive import holds
from tamis.schema import Schema


def reference_matches(
    subscriptions: Mapping[str, str], schema: Schema, events: Sequence[Mapping[str, Any]] | pa.RecordBatch | pa.Table
) -> list[list[str]]:
    """For each event the sorted ids of the subscriptions it satisfies, each once.

    A subscription that does not parse matches nothing. Equal texts are evaluated once, so a thousand copies cost no
    more than one.
    """
    by_text: dict[str, list[str]] = {}
    for key, text in subscriptions.items():
        by_text.setdefault(text, []).append(key)
    trees: dict[str, Tree] = {}
    for text in by_text:
        try:
            trees[text] = parse(text, schema)
        except FilterError:
            continue
    return [
        sorted(key for text, tree in trees.items() if holds(tree, values, schema) for key in by_text[text])
        for values in event_values(schema.to_arrow(events), schema)
    ]
