"""The dict form of a schema, read with every mistake placed, and written back in one canonical way.

Reading is strict: an unknown key, a repeated node or an undefined name is an error, never a guess.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from tamis.errors import SchemaError
from tamis.schema.attributes import EVENT_TYPE, Annotation, Attribute, EventType
from tamis.schema.domains import PLAIN_DOMAINS, Domain, EnumeratedDomain, HierarchicalDomain, listing

_SECTIONS = ("domains", "attributes", "event_types", "default_event_type")
_DOMAIN_KEYS = {"enumerated": ("type", "values", "order"), "hierarchical": ("type", "tree")}
_DEEPEST_TREE = 100
_ANNOTATIONS = ("mandatory", "optional", "unique", "multiple")


@dataclass(frozen=True)
class Parts:
    """What a schema is made of, checked against each other."""

    domains: dict[str, Domain]
    attributes: dict[str, Attribute]
    event_types: dict[str, EventType]
    default_event_type: str | None


def read_form(form: object) -> Parts:
    """Check a schema's dict form and turn it into its parts."""
    sections = _mapping(form, "")
    _known_keys(sections, _SECTIONS, "")
    domains = {
        name: _read_domain(name, definition, within("domains", name))
        for name, definition in _named(sections, "domains")
    }
    named_domains = {**PLAIN_DOMAINS, **domains}
    attribute_domains = {
        name: _read_attribute(name, definition, named_domains) for name, definition in _named(sections, "attributes")
    }
    event_types = {
        name: _read_event_type(name, definition, attribute_domains)
        for name, definition in _named(sections, "event_types")
    }
    if not event_types:
        raise SchemaError(
            "there is no event type", "event_types", "declare at least one: {name: {attribute: optional}}"
        )
    return Parts(
        domains,
        _number(attribute_domains, event_types.values()),
        event_types,
        _read_default(sections.get("default_event_type"), event_types),
    )


def write_form(parts: Parts) -> dict[str, object]:
    """The canonical dict form: `read_form` gives the same parts back."""
    named = {**PLAIN_DOMAINS, **parts.domains}
    form: dict[str, object] = {}
    if parts.domains:
        form["domains"] = {name: _write_domain(domain) for name, domain in parts.domains.items()}
    form["attributes"] = {
        attribute.name: attribute.domain.name if attribute.domain.name in named else _write_domain(attribute.domain)
        for attribute in parts.attributes.values()
        if attribute.name != EVENT_TYPE
    }
    form["event_types"] = {
        event_type.name: {name: _write_annotation(annotation) for name, annotation in event_type.annotations.items()}
        for event_type in parts.event_types.values()
    }
    if parts.default_event_type is not None and len(parts.event_types) > 1:
        form["default_event_type"] = parts.default_event_type
    return form


def within(place: str, key: object) -> str:
    """The path of `key` inside `place`, quoted where it would not read as a path."""
    if isinstance(key, str) and key.isidentifier():
        return f"{place}.{key}" if place else key
    return f"{place}[{key!r}]"


def _number(domains: Mapping[str, Domain], event_types: Iterable[EventType]) -> dict[str, Attribute]:
    multiple = {
        name for event_type in event_types for name, annotation in event_type.annotations.items() if annotation.multiple
    }
    type_names = EnumeratedDomain(tuple(event_type.name for event_type in event_types), name=EVENT_TYPE)
    attributes = {EVENT_TYPE: Attribute(EVENT_TYPE, type_names, True, 0)}
    for number, (name, domain) in enumerate(domains.items(), 1):
        attributes[name] = Attribute(name, domain, name in multiple, number)
    return attributes


def _read_domain(name: str, definition: object, place: str) -> Domain:
    if name in PLAIN_DOMAINS or name in _DOMAIN_KEYS:
        raise SchemaError(f"{name!r} is the name of a built-in domain", place, "choose another name")
    fields = _mapping(definition, place, remedy="write {type: ...}")
    kind = fields.get("type")
    if not isinstance(kind, str) or (kind not in PLAIN_DOMAINS and kind not in _DOMAIN_KEYS):
        raise SchemaError(
            f"no such type of domain: {kind!r}" if "type" in fields else "the domain has no type",
            within(place, "type"),
            f"use one of {', '.join([*PLAIN_DOMAINS, *_DOMAIN_KEYS])}",
        )
    _known_keys(fields, _DOMAIN_KEYS.get(kind, ("type",)), place)
    if kind == "enumerated":
        return _read_enumerated(name, fields, place)
    if kind == "hierarchical":
        return _read_tree(name, fields.get("tree"), within(place, "tree"))
    return replace(PLAIN_DOMAINS[kind], name=name)


def _read_enumerated(name: str, fields: Mapping[str, object], place: str) -> EnumeratedDomain:
    values_place, order_place = within(place, "values"), within(place, "order")
    values: dict[str, None] = {}
    for position, value in enumerate(_sequence(fields.get("values"), values_place, "list the values: [a, b, c]")):
        text = _text(value, within(values_place, position))
        if text in values:
            raise SchemaError(f"{text!r} is listed twice", within(values_place, position), "remove one")
        values[text] = None
    if not values:
        raise SchemaError("the domain has no values", values_place, "list at least one")
    order: dict[tuple[str, str], None] = {}
    for position, given in enumerate(_sequence(fields.get("order") or [], order_place, "list pairs: [[a, b], [b, c]]")):
        pair_place = within(order_place, position)
        pair = _sequence(given, pair_place, "write [smaller, larger]")
        if len(pair) != 2:
            raise SchemaError(f"a pair has two values, this has {len(pair)}", pair_place, "write [smaller, larger]")
        for side, value in enumerate(pair):
            _defined(_text(value, within(pair_place, side)), values, "value", within(pair_place, side))
        order[str(pair[0]), str(pair[1])] = None
    try:
        return EnumeratedDomain(tuple(values), tuple(order), name)
    except SchemaError as error:
        raise SchemaError(error.message, order_place, error.remedy) from None


def _read_tree(name: str, tree: object, place: str) -> HierarchicalDomain:
    values: dict[str, None] = {}
    ends: dict[int, int] = {}

    def walk(nodes: object, here: str, depth: int) -> None:
        for given, children in _mapping(nodes, here, remedy="nest the nodes: {root: {leaf: {}}}").items():
            if depth > _DEEPEST_TREE:
                raise SchemaError(f"the tree is deeper than {_DEEPEST_TREE} levels", place, "flatten it")
            node_place = within(here, given)
            node = _text(given, node_place)
            if node in values:
                raise SchemaError(
                    f"the tree has two nodes {node!r}", node_place, "node names must be unique: rename one"
                )
            position = len(values)
            values[node] = None
            walk({} if children is None else children, node_place, depth + 1)
            ends[position] = len(values)

    walk(tree, place, 1)
    if not values:
        raise SchemaError("the tree has no nodes", place, "give at least one: {root: {}}")
    return HierarchicalDomain(tuple(values), tuple(ends[position] for position in range(len(values))), name)


def _read_attribute(name: str, definition: object, domains: Mapping[str, Domain]) -> Domain:
    place = within("attributes", name)
    if name == EVENT_TYPE:
        raise SchemaError(f"{EVENT_TYPE!r} is built in", place, "leave it out: its values are the event types")
    if isinstance(definition, Mapping):
        kind = definition.get("type")
        if not (isinstance(kind, str) and kind in domains and len(definition) == 1):
            return _read_domain("", definition, place)
        definition = kind
    return domains[_defined(_text(definition, place), domains, "domain", place)]


def _read_event_type(name: str, definition: object, attributes: Mapping[str, Domain]) -> EventType:
    place = within("event_types", name)
    annotations = {}
    for attribute, given in _mapping({} if definition is None else definition, place).items():
        here = within(place, attribute)
        if attribute == EVENT_TYPE:
            raise SchemaError(f"{EVENT_TYPE!r} is built in", here, "leave it out: every event has it")
        _defined(_text(attribute, here), attributes, "attribute", here)
        annotations[attribute] = read_annotation(given, here)
    return EventType(name, annotations)


def read_annotation(given: object, place: str) -> Annotation:
    """`mandatory`, `optional`, or a list that adds `unique` (the default) or `multiple`."""
    remedy = "write mandatory, optional, [mandatory, multiple] or [optional, multiple]"
    words = [given] if isinstance(given, str) else _sequence(given, place, remedy)
    for word in words:
        if word not in _ANNOTATIONS:
            raise SchemaError(f"no such annotation: {word!r}", place, remedy)
    if len({"mandatory", "optional"}.intersection(words)) != 1 or len(set(words)) != len(words):
        raise SchemaError("an attribute is either mandatory or optional, said once", place, remedy)
    if {"unique", "multiple"} <= set(words):
        raise SchemaError("an attribute is either unique or multiple", place, remedy)
    return Annotation("mandatory" in words, "multiple" in words)


def _read_default(given: object, event_types: Mapping[str, EventType]) -> str | None:
    if given is not None:
        return _defined(_text(given, "default_event_type"), event_types, "event type", "default_event_type")
    return next(iter(event_types)) if len(event_types) == 1 else None


def _write_domain(domain: Domain) -> dict[str, object]:
    form: dict[str, object] = {"type": domain.kind}
    if isinstance(domain, EnumeratedDomain):
        form["values"] = list(domain.values)
        if domain.order:
            form["order"] = [list(pair) for pair in domain.order]
    elif isinstance(domain, HierarchicalDomain):
        form["tree"] = domain.tree()
    return form


def _write_annotation(annotation: Annotation) -> str | list[str]:
    presence = "mandatory" if annotation.mandatory else "optional"
    return [presence, "multiple"] if annotation.multiple else presence


def _named(sections: Mapping[str, object], section: str) -> Iterable[tuple[str, object]]:
    given = sections.get(section)
    for name, definition in _mapping({} if given is None else given, section).items():
        yield _name(name, within(section, name)), definition


def _mapping(given: object, place: str, remedy: str = "write a mapping") -> Mapping[str, object]:
    if not isinstance(given, Mapping):
        raise SchemaError(f"expected a mapping, found {given!r}", place, remedy)
    return given


def _sequence(given: object, place: str, remedy: str) -> list[object]:
    if not isinstance(given, list | tuple):
        raise SchemaError(f"expected a list, found {given!r}", place, remedy)
    return list(given)


def _text(given: object, place: str) -> str:
    if not isinstance(given, str):
        raise SchemaError(f"expected a string, found {given!r}", place, f"quote it: {str(given)!r}")
    if any("\ud800" <= character <= "\udfff" for character in given):
        raise SchemaError(f"{given!r} holds a lone surrogate", place, "remove it")
    return given


def _name(given: object, place: str) -> str:
    name = _text(given, place)
    # Arrow hands column names over as C strings, which a NUL would cut short.
    if not name or "\0" in name:
        raise SchemaError("a name is not empty and holds no NUL", place, "give it another name")
    return name


def _known_keys(given: Mapping[str, object], known: Iterable[str], place: str) -> None:
    for key in given:
        if key not in known:
            raise SchemaError(f"unknown key {key!r}", within(place, key), f"the keys are {', '.join(known)}")


def _defined(name: str, known: Collection[str], what: str, place: str) -> str:
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        remedy = f"did you mean {close[0]!r}?" if close else f"declare it, or use one of {listing(list(known))}"
        raise SchemaError(f"{what} {name!r} is not defined", place, remedy)
    return name
