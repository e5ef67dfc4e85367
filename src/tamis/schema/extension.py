"""Extension of a schema by additions, under four rules (Fabret et al., §2.2) that break nothing in use; and the
difference of any two schemas.

New domains, new attributes, new event types, and optional attributes for event types that exist: nothing else, so that
an event valid before stays valid, and a subscription keeps its meaning. An event type may become a table, whose key,
join attributes and retention stay as they are from then on.

`difference` gives the additions with which one schema would have all of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamis.errors import SchemaError, shown
from tamis.schema.domains import Annotation, Domain, EnumeratedDomain, EventType, HierarchicalDomain, listing
from tamis.schema.form import read_annotation
from tamis.schema.tables import Table, within, write_table

if TYPE_CHECKING:
    from tamis.schema.model import Schema


_SHOWN = 160
_Listed = EnumeratedDomain | HierarchicalDomain


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Part that two schemas define differently: its place in the dict form, and the difference."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Parts of one schema (here) that another (there) does not have.

    `additions` are the extra parts, as `Schema.extend` takes them; `contradictions` those that both have, differently,
    so that neither extends the other. Parts that this schema lacks are in the other's difference from it.
    """

    additions: dict[str, dict[str, Any]]
    contradictions: tuple[Contradiction, ...]


def difference(there: Schema, here: Schema) -> Difference:
    """Compares two schemas by meaning: names of domains and the order of lists make no difference."""
    form: dict[str, Any] = {"domains": {}, "tables": {}, **here.to_dict()}
    known: dict[str, Mapping[str, object]] = {
        "domains": there.domains,
        "attributes": there.attributes,
        "event_types": there.event_types,
        "tables": there.tables,
    }
    additions = {
        section: {name: one for name, one in form[section].items() if name not in defined}
        for section, defined in known.items()
    }
    additions["optional"] = {
        name: more
        for name, given in form["event_types"].items()
        if name in there.event_types
        and (more := {one: how for one, how in given.items() if one not in there.event_types[name].annotations})
    }
    return Difference(additions, tuple(_contradictions(there, here)))


def _contradictions(old: Schema, new: Schema) -> Iterator[Contradiction]:
    told = set()
    for name, domain in new.domains.items():
        if name in old.domains and not _same_domain(old.domains[name], domain):
            told.add(name)
            yield Contradiction(within("domains", name), _domains_told(old.domains[name], domain))
    for name, attribute in new.attributes.items():
        # The values of `event_type` are the event types, which may be more here, or fewer.
        known = old.attributes.get(name)
        if known is None or attribute.number == 0 or _same_domain(known.domain, attribute.domain):
            continue
        if not (known.domain.name == attribute.domain.name and known.domain.name in told):
            yield Contradiction(within("attributes", name), _domains_told(known.domain, attribute.domain))
    for name, event_type in new.event_types.items():
        if name in old.event_types:
            yield from _annotations_told(old.event_types[name], event_type)
    for name, table in new.tables.items():
        if name in old.tables and _meaning(table) != _meaning(old.tables[name]):
            message = f"{_text(write_table(table))} here, {_text(write_table(old.tables[name]))} there"
            yield Contradiction(within("tables", name), message)
    # Where there are several types, and none was the only one once, a schema need not name a default: it stays.
    if len(new.event_types) > 1 and new.default_event_type not in (None, old.default_event_type):
        there = "none" if old.default_event_type is None else repr(old.default_event_type)
        yield Contradiction("default_event_type", f"{new.default_event_type!r} here, {there} there")


def _annotations_told(old: EventType, new: EventType) -> Iterator[Contradiction]:
    for name, annotation in new.annotations.items():
        place, known = within(within("event_types", new.name), name), old.annotations.get(name)
        if known is None:
            if annotation.mandatory:
                yield Contradiction(place, "mandatory here, and not of this type there: it may be added as optional")
        elif known != annotation:
            yield Contradiction(place, f"{annotation} here, {known} there")


def _same_domain(one: Domain, other: Domain) -> bool:
    if one == other or one.kind != other.kind or not isinstance(one, _Listed) or not isinstance(other, _Listed):
        return one == other
    return set(one.values) == set(other.values) and all(
        _smaller(one, value) == _smaller(other, value) for value in one.values
    )


def _smaller(domain: _Listed, value: str) -> set[str]:
    return {domain.values[position] for position in domain.satisfying("<", value)}


def _domains_told(old: Domain, new: Domain) -> str:
    if old.kind != new.kind or not isinstance(old, _Listed) or not isinstance(new, _Listed):
        return f"{new.name or new.kind!r} here, {old.name or old.kind!r} there"
    lacking = [value for value in old.values if new.position(value) is None]
    more = [value for value in new.values if old.position(value) is None]
    told = [f"it lacks {listing(lacking)} here"] if lacking else []
    told += [f"it has {listing(more)} here, and not there"] if more else []
    return ", ".join(told) or "its values are ordered otherwise here than there"


def _meaning(table: Table) -> tuple[object, ...]:
    return frozenset(table.key), frozenset(table.join), table.retention


def _text(form: Mapping[str, object]) -> str:
    return shown(dict(form), _SHOWN)


Section = Mapping[str, object]


def extend(
    schema: Schema,
    domains: Section | None,
    attributes: Section | None,
    event_types: Section | None,
    optional: Mapping[str, Section] | None,
    tables: Section | None,
) -> dict[str, object]:
    """Dict form of the extended schema. New parts are checked as in any schema; here, that nothing else changes."""
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
    """Refuses to make an attribute multiple: `NOT (x > 3)`, kept as `x <= 3`, would change its meaning."""
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
