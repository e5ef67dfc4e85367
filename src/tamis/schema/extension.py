"""The four extension rules (Fabret et al., §2.2), by which publishers grow a schema that others already use.

New domains, new attributes, new event types, and optional attributes for event types that exist: nothing else, so that
an event valid before stays valid, and a subscription keeps its meaning. An event type may become a table, whose key,
join attributes and retention stay as they are from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tamis.errors import SchemaError
from tamis.quoting import shown
from tamis.schema.attributes import Annotation
from tamis.schema.form import read_annotation
from tamis.schema.placed import within

if TYPE_CHECKING:
    from tamis.schema.model import Schema

Section = Mapping[str, object]


def extend(
    schema: Schema,
    domains: Section | None,
    attributes: Section | None,
    event_types: Section | None,
    optional: Mapping[str, Section] | None,
    tables: Section | None,
) -> dict[str, object]:
    """The dict form of the extended schema. What is new is checked as any schema is; here, that it only adds."""
    form: dict[str, Any] = {"domains": {}, "tables": {}, **schema.to_dict()}
    given = {"domains": domains, "attributes": attributes, "event_types": event_types, "tables": tables}
    for section, added in given.items():
        for name, definition in _entries(added, section):
            if name in form[section]:
                remedy = "an extension only adds: choose another name"
                if section == "event_types":
                    remedy = "give it more attributes through optional={...}"
                elif section == "tables":
                    remedy = "its rows are kept as it says: make a table of another event type"
                raise SchemaError(f"{name!r} is already defined", within(section, name), remedy)
            form[section][name] = definition
    for event_type, more in _entries(optional, "optional"):
        _extend_event_type(schema, form, event_type, more)
    for event_type, attribute, annotation in _added_annotations(schema, form):
        _refuse_multiplication(schema, event_type, attribute, annotation)
    if len(form["event_types"]) > 1 and schema.default_event_type is not None:
        # Events published while there was only one type need not name it; they must stay valid.
        form["default_event_type"] = schema.default_event_type
    return form


def _extend_event_type(schema: Schema, form: dict[str, Any], event_type: str, more: object) -> None:
    place = within("optional", event_type)
    if event_type not in schema.event_types:
        raise SchemaError(f"there is no event type {event_type!r} to extend", place, "add it through event_types={...}")
    for attribute, given in _entries(more, place):
        here = within(place, attribute)
        if attribute in schema.event_types[event_type].annotations:
            raise SchemaError(f"{event_type!r} already has {attribute!r}", here, "leave it out")
        if read_annotation(given, here).mandatory:
            raise SchemaError(
                "an event type that exists takes optional attributes only, or its events would become invalid",
                here,
                "write optional, or add a new event type",
            )
        form["event_types"][event_type][attribute] = given


def _added_annotations(schema: Schema, form: dict[str, Any]) -> Iterator[tuple[str, str, Annotation]]:
    for event_type, attributes in form["event_types"].items():
        known = schema.event_types.get(event_type)
        place = within("event_types", event_type)
        for attribute, given in _entries(attributes, place):
            if known is None or attribute not in known.annotations:
                yield event_type, attribute, read_annotation(given, within(place, attribute))


def _refuse_multiplication(schema: Schema, event_type: str, attribute: str, annotation: Annotation) -> None:
    """A subscription written for one value, such as `NOT (x > 3)` kept as `x <= 3`, would mean another thing."""
    known = schema.attributes.get(attribute)
    if known is None or known.multiple or not annotation.multiple:
        return
    holders = [name for name, held in schema.event_types.items() if attribute in held.annotations]
    if holders:
        raise SchemaError(
            f"{attribute!r} is unique in {', '.join(map(repr, holders))} and cannot become multiple",
            within(within("event_types", event_type), attribute),
            "make it unique, or add a new attribute",
        )


def _entries(section: object, place: str) -> list[tuple[str, Any]]:
    if section is None:
        return []
    if not isinstance(section, Mapping):
        raise SchemaError(f"expected a mapping, found {shown(section)}", place, "write {name: definition}")
    return list(section.items())
