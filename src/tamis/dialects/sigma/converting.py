"""A Sigma rule to a filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tamis.dialects.conversion import Needs, Use, checked, collected
from tamis.dialects.sigma.leaves import Asked, Compare, Condition, Equal, Given, Node, SameAs, Test, leaves
from tamis.dialects.sigma.reading import asked, read
from tamis.dialects.sigma.writing import filter_of
from tamis.language.tree import And, Negation, Or
from tamis.schema import Schema


def convert(
    rule: Mapping[str, Any] | str, schema: Schema, *, keywords: str | None = None, log_source: str | None = None
) -> str:
    """A filter that holds for exactly the events that the rule's detection matches.

    `keywords` names the attribute that detections without a field look at. With `log_source`, events must be of the
    rule's log source, too: `log_source="logsource."` asks for `logsource.category`, `.product` and `.service`.
    """
    asked = read(rule, keywords, log_source)
    return checked(filter_of(_resolved(asked, schema), _mandatory(schema)), schema)


def _resolved(node: Node[Asked], schema: Schema) -> Node[Condition]:
    match node:
        case Asked():
            return leaves(node, schema)
        case Negation(item):
            return Negation(_resolved(item, schema))
        case And(items):
            return And(tuple(_resolved(item, schema) for item in items))
        case Or(items):
            return Or(tuple(_resolved(item, schema) for item in items))
    raise AssertionError(node)


def _mandatory(schema: Schema) -> frozenset[str]:
    """The attributes that every event type asks for."""
    required = [
        {name for name, annotation in event_type.annotations.items() if annotation.mandatory}
        for event_type in schema.event_types.values()
    ]
    return frozenset(set.intersection(*required))


# Which attributes Sigma rules ask for.


def needed(
    rules: Iterable[Mapping[str, Any] | str], *, keywords: str | None = None, log_source: str | None = None
) -> Needs:
    """The fields of all rules that can be read.

    Sigma compares numbers with texts as they are written, so a field is `float` only where no rule asks for a text.
    """

    def uses(rule: Mapping[str, Any] | str) -> Iterator[Use]:
        for item in asked(read(rule, keywords, log_source)):
            yield from _uses(item.field, item.test)

    needs = collected(rules, uses)
    for wanted in needs.values():
        if "string" in wanted.asked:
            wanted.asked = {"string": sum(wanted.asked.values())}
    return needs


def _uses(field: str, test: Test) -> list[Use]:
    match test:
        case Given():
            return [Use(field)]
        case SameAs(other):
            return [Use(field), Use(other)]
        case Equal(bool()):
            return [Use(field, "boolean")]
        case Equal(value) | Compare(_, value):
            return [Use(field, "float", value)]
    return [Use(field, "string")]
