"""A Sigma rule to a filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tamis.dialects.conversion import checked
from tamis.dialects.sigma.leaves import Condition, leaves
from tamis.dialects.sigma.reading import read
from tamis.dialects.sigma.tests import Asked, Every, No, Node, Some
from tamis.dialects.sigma.writing import write
from tamis.dialects.writing import unwrapped
from tamis.schema import Schema


def convert(
    rule: Mapping[str, Any] | str, schema: Schema, *, keywords: str | None = None, log_source: str | None = None
) -> str:
    """A filter that holds for exactly the events that the rule's detection matches.

    `keywords` names the attribute that detections without a field look at. With `log_source`, events must be of the
    rule's log source, too: `log_source="logsource."` asks for `logsource.category`, `.product` and `.service`.
    """
    asked = read(rule, keywords, log_source)
    text = write(_resolved(asked, schema), _mandatory(schema))
    return checked(unwrapped(text), schema)


def _resolved(node: Node[Asked], schema: Schema) -> Node[Condition]:
    match node:
        case Asked():
            return leaves(node, schema)
        case No(part):
            return No(_resolved(part, schema))
        case Every(parts):
            return Every(tuple(_resolved(part, schema) for part in parts))
        case Some(parts):
            return Some(tuple(_resolved(part, schema) for part in parts))
    raise AssertionError(node)


def _mandatory(schema: Schema) -> frozenset[str]:
    """The attributes that every event type asks for."""
    required = [
        {name for name, annotation in event_type.annotations.items() if annotation.mandatory}
        for event_type in schema.event_types.values()
    ]
    return frozenset(set.intersection(*required))
