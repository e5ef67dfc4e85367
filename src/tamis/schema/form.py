"""Reader and writer of a schema's dict and YAML form: every mistake has its place, and writing is canonical.

Reading is strict: an unknown key, a repeated node or an undefined name is an error, never a guess.

YAML is read more strictly than YAML asks: a key given twice is refused instead of the last one winning.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from tamis.errors import SchemaError, shown
from tamis.schema.domains import (
    EVENT_TYPE,
    PLAIN_DOMAINS,
    Annotation,
    Attribute,
    Domain,
    EnumeratedDomain,
    EventType,
    HierarchicalDomain,
)
from tamis.schema.tables import (
    Table,
    changeable,
    defined,
    known_keys,
    mapping,
    name_of,
    read_tables,
    sequence,
    text_of,
    with_operation,
    within,
    write_table,
)
from tamis.yaml_loading import Loader, TooManyAliasesError, load

_REMEDIES: Final = {
    "'\\t'": "indent by spaces, not by tabs",
    "expected ',' or": "close the bracket that was opened before, or put a comma between",
    "another document": "leave '---' out",
    "undefined alias": "quote a text that begins with *",
    "": "quote a text that holds ': ' or begins with a quote",
}
"""Remedies, by words of PyYAML's own message; the last holds for all others."""


class _Loader(Loader):
    """YAML loader of untrusted texts that also refuses repeated keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise SchemaError(
                        f"{shown(key)} is given twice", _place(key_node.start_mark), "remove or rename one"
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(text: str) -> object:
    """Dict form in a YAML text; a `SchemaError` says in one line where it is none."""
    try:
        return load(text, _Loader)
    except TooManyAliasesError as error:
        raise SchemaError(error.problem or "", _place(error.problem_mark), "write the values out") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = f"this is no YAML: {(error.problem or error.context or '').removeprefix('but ')}"
        raise SchemaError(
            reason, _place(mark), next(_REMEDIES[words] for words in _REMEDIES if words in reason)
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        raise SchemaError(f"this is no YAML: {' '.join(str(error).split())}") from error
    except RecursionError:
        raise SchemaError("the YAML is nested too deeply", remedy="flatten it") from None


def _place(mark: yaml.Mark | None) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""


def write_yaml(form: Mapping[str, object]) -> str:
    """YAML text that `read_yaml` turns into the same form."""
    return yaml.safe_dump(dict(form), sort_keys=False, allow_unicode=True, width=120)


_SECTIONS = ("domains", "attributes", "event_types", "tables", "default_event_type")
_SECTION_FORMS = {
    "domains": "write {colour: {type: enumerated, values: [red, blue]}}",
    "attributes": "write {price: float, title: string}",
    "event_types": "write {lot: {price: mandatory, title: optional}}",
}
_DOMAIN_KEYS = {"enumerated": ("type", "values", "order"), "hierarchical": ("type", "tree")}
_DEEPEST_TREE = 100
_ANNOTATIONS = ("mandatory", "optional", "unique", "multiple")


@dataclass(frozen=True)
class Parts:
    """Parts of a schema: domains, attributes and event types, checked against each other."""

    domains: dict[str, Domain]
    attributes: dict[str, Attribute]
    event_types: dict[str, EventType]
    default_event_type: str | None
    tables: dict[str, Table] = field(default_factory=dict)


def read_form(form: object) -> Parts:
    """Checks a schema's dict form and turns it into its parts."""
    sections = mapping(form, "", "a schema has attributes and event_types")
    known_keys(sections, _SECTIONS, "")
    domains = {
        name: _read_domain(name, definition, within("domains", name))
        for name, definition in _named(sections, "domains")
    }
    named_domains = {**PLAIN_DOMAINS, **domains}
    attribute_domains = {
        name: _read_attribute(name, definition, named_domains) for name, definition in _named(sections, "attributes")
    }
    attribute_domains = with_operation(sections.get("tables"), attribute_domains)
    event_types = {
        name: _read_event_type(name, definition, attribute_domains)
        for name, definition in _named(sections, "event_types")
    }
    event_types = changeable(sections.get("tables"), event_types)
    if not event_types:
        raise SchemaError(
            "there is no event type", "event_types", "declare at least one: {name: {attribute: optional}}"
        )
    attributes = _number(attribute_domains, event_types.values())
    return Parts(
        domains,
        attributes,
        event_types,
        _read_default(sections.get("default_event_type"), event_types),
        read_tables(sections.get("tables"), attributes, event_types),
    )


def write_form(parts: Parts) -> dict[str, object]:
    """Canonical dict form: `read_form` gives the same parts back."""
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
    if parts.tables:
        form["tables"] = {name: write_table(table) for name, table in parts.tables.items()}
    if parts.default_event_type is not None and len(parts.event_types) > 1:
        form["default_event_type"] = parts.default_event_type
    return form


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
        raise SchemaError(f"{shown(name)} is the name of a built-in domain", place, "choose another name")
    fields = mapping(definition, place, remedy="write {type: ...}")
    kind = fields.get("type")
    if not isinstance(kind, str) or (kind not in PLAIN_DOMAINS and kind not in _DOMAIN_KEYS):
        raise SchemaError(
            f"no such type of domain: {shown(kind)}" if "type" in fields else "the domain has no type",
            within(place, "type"),
            f"use one of {', '.join([*PLAIN_DOMAINS, *_DOMAIN_KEYS])}",
        )
    known_keys(fields, _DOMAIN_KEYS.get(kind, ("type",)), place)
    if kind == "enumerated":
        return _read_enumerated(name, fields, place)
    if kind == "hierarchical":
        return _read_tree(name, fields.get("tree"), within(place, "tree"))
    return replace(PLAIN_DOMAINS[kind], name=name)


def _read_enumerated(name: str, fields: Mapping[str, object], place: str) -> EnumeratedDomain:
    values_place, order_place = within(place, "values"), within(place, "order")
    values: dict[str, None] = {}
    for position, value in enumerate(sequence(fields.get("values"), values_place, "list the values: [a, b, c]")):
        text = text_of(value, within(values_place, position))
        if text in values:
            raise SchemaError(f"{shown(text)} is listed twice", within(values_place, position), "remove one")
        values[text] = None
    if not values:
        raise SchemaError("the domain has no values", values_place, "list at least one")
    order: dict[tuple[str, str], None] = {}
    for position, given in enumerate(sequence(fields.get("order") or [], order_place, "list pairs: [[a, b], [b, c]]")):
        pair_place = within(order_place, position)
        pair = sequence(given, pair_place, "write [smaller, larger]")
        if len(pair) != 2:
            raise SchemaError(f"a pair has two values, this has {len(pair)}", pair_place, "write [smaller, larger]")
        for side, value in enumerate(pair):
            defined(text_of(value, within(pair_place, side)), values, "value", within(pair_place, side))
        order[str(pair[0]), str(pair[1])] = None
    try:
        return EnumeratedDomain(tuple(values), tuple(order), name)
    except SchemaError as error:
        raise SchemaError(error.message, order_place, error.remedy) from None


def _read_tree(name: str, tree: object, place: str) -> HierarchicalDomain:
    values: dict[str, None] = {}
    ends: dict[int, int] = {}

    def walk(nodes: object, here: str, depth: int) -> None:
        for given, children in mapping(nodes, here, remedy="nest the nodes: {root: {leaf: {}}}").items():
            if depth > _DEEPEST_TREE:
                raise SchemaError(f"the tree is deeper than {_DEEPEST_TREE} levels", place, "flatten it")
            node_place = within(here, given)
            node = text_of(given, node_place)
            if node in values:
                raise SchemaError(
                    f"the tree has two nodes {shown(node)}", node_place, "node names must be unique: rename one"
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
    return domains[defined(text_of(definition, place), domains, "domain", place)]


def _read_event_type(name: str, definition: object, attributes: Mapping[str, Domain]) -> EventType:
    place = within("event_types", name)
    annotations = {}
    for attribute, given in mapping(
        {} if definition is None else definition, place, "write {price: mandatory, title: optional}"
    ).items():
        here = within(place, attribute)
        if attribute == EVENT_TYPE:
            raise SchemaError(f"{EVENT_TYPE!r} is built in", here, "leave it out: every event has it")
        defined(text_of(attribute, here), attributes, "attribute", here)
        annotations[attribute] = read_annotation(given, here)
    return EventType(name, annotations)


def read_annotation(given: object, place: str) -> Annotation:
    """Reads an annotation: `mandatory`, `optional`, or a list that adds `unique` (the default) or `multiple`."""
    remedy = "write mandatory, optional, [mandatory, multiple] or [optional, multiple]"
    words = [given] if isinstance(given, str) else sequence(given, place, remedy)
    for word in words:
        if word not in _ANNOTATIONS:
            raise SchemaError(f"no such annotation: {shown(word)}", place, remedy)
    if len({"mandatory", "optional"}.intersection(words)) != 1 or len(set(words)) != len(words):
        raise SchemaError("an attribute is either mandatory or optional, said once", place, remedy)
    if {"unique", "multiple"} <= set(words):
        raise SchemaError("an attribute is either unique or multiple", place, remedy)
    return Annotation("mandatory" in words, "multiple" in words)


def _read_default(given: object, event_types: Mapping[str, EventType]) -> str | None:
    if given is not None:
        return defined(text_of(given, "default_event_type"), event_types, "event type", "default_event_type")
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
    for name, definition in mapping({} if given is None else given, section, _SECTION_FORMS[section]).items():
        yield name_of(name, within(section, name)), definition
