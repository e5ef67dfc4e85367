"""What the tests of the columnar index share: a schema with every kind of attribute, and levels made from texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from tamis.language import bind
from tamis.matching.base.matcher import Answer, Matches, Subscriptions, Work
from tamis.matching.base.statistics import Statistics
from tamis.matching.columnar.level import ColumnarLevel, ColumnarMatcher
from tamis.schema import Schema

SINGLE = {"n": "integer", "m": "integer", "f": "float", "g": "float", "s": "string", "t": "string"}
SINGLE |= {"flag": "boolean", "at": "timestamp", "until": "timestamp", "period": "period", "era": "period"}
SINGLE |= {"kind": "furniture", "colour": "colour"}
MULTIPLE = {"sizes": "integer", "marks": "float", "tags": "string", "kinds": "furniture", "periods": "period"}

SCHEMA = Schema.from_dict(
    {
        "domains": {
            "period": {
                "type": "enumerated",
                "values": ["XVI", "modern", "XVII", "XVIII"],
                "order": [["XVI", "XVII"], ["XVII", "XVIII"]],
            },
            "furniture": {"type": "hierarchical", "tree": {"bed": {"cot": {}}, "seat": {"chair": {}, "bench": {}}}},
            "colour": {"type": "enumerated", "values": ["red", "green"]},
        },
        "attributes": SINGLE | MULTIPLE,
        "event_types": {
            "thing": dict.fromkeys(SINGLE, "optional") | {name: ["optional", "multiple"] for name in MULTIPLE}
        },
    }
)

Events: TypeAlias = Sequence[Mapping[str, Any]] | pa.RecordBatch


def subscriptions_of(texts: Mapping[str, str] | Sequence[str], schema: Schema = SCHEMA) -> Subscriptions:
    """Subscriptions by id, or under their positions; all of them must be filters."""
    if not isinstance(texts, Mapping):
        texts = {str(number): text for number, text in enumerate(texts)}
    ids, filters = pa.array(list(texts), pa.string()), pa.array(list(texts.values()), pa.string())
    bound = bind(filters, schema)
    assert bound.errors == []
    return Subscriptions(ids, filters, bound)


def matcher_of(
    texts: Mapping[str, str] | Sequence[str], schema: Schema = SCHEMA, statistics: Statistics | None = None
) -> ColumnarMatcher:
    return ColumnarMatcher.build(subscriptions_of(texts, schema), schema, statistics)


def level_of(
    texts: Mapping[str, str] | Sequence[str], schema: Schema = SCHEMA, statistics: Statistics | None = None
) -> ColumnarLevel:
    """All of them in one level."""
    (level,) = matcher_of(texts, schema, statistics)._levels
    return level


def matches_of(level: ColumnarLevel, events: Events, schema: Schema = SCHEMA) -> Matches:
    """One level's answer."""
    batch, work = schema.to_arrow(events), Work()
    return Matches(len(batch), [Answer(level.names.ids, level.match(batch, work))], work)


def found(level: ColumnarLevel, events: Events, schema: Schema = SCHEMA) -> list[list[str]]:
    """For each event the sorted ids it matched; a repeated match stays visible."""
    return [sorted(ids) for ids in matches_of(level, events, schema).to_lists()]


def answers(matcher: ColumnarMatcher, events: Events, schema: Schema = SCHEMA) -> list[list[str]]:
    return [sorted(ids) for ids in matcher.match(schema.to_arrow(events)).to_lists()]
