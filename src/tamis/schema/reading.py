"""Reference validation of one event: objects flattened to dotted names, canonical values, and every violation of R1–R3,
of the domains and of tables.

This is the reference. The vectorised checks accept only events that they can prove this would accept, with the same
values, and hand it the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.errors import Rule, Violation, shown
from tamis.schema.domains import EVENT_TYPE, Attribute, listing
from tamis.schema.tables import OPERATION, breaks_table, deletes
from tamis.schema.values import InadmissibleError, Value, read_value

if TYPE_CHECKING:
    from tamis.schema.model import Schema

_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
# Tried first, by exact type: the check for a Mapping costs more than reading the value.
_SCALARS = frozenset([str, int, float, bool, type(None)])


@dataclass(slots=True)
class Reading:
    """Result of reading one event: its attributes and its faults.

    `given` holds the values present under each name, known to the schema or not; `values` the canonical values of the
    known names whose every value its domain admits: a list for a multiple attribute, the value itself for another.
    Null, an empty list and an empty object are absent.
    """

    row: int
    given: dict[str, object] = field(default_factory=dict)
    values: dict[str, Value | list[Value]] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    @property
    def malformed(self) -> bool:
        """True if there is no event at all, only the reason why."""
        return bool(self.violations) and not self.given and self.violations[0].attribute == ""

    def refuse(self, attribute: str, rule: Rule, value: object, message: str) -> None:
        self.violations.append(Violation(self.row, attribute, rule, value, message))


def flatten(
    event: Mapping[str, object], solitary: Collection[str] = frozenset(), prefix: str = ""
) -> Iterator[tuple[str, object]]:
    """Pairs (dotted name, value) of an event, with objects inside it, and in its lists, taken apart.

    A list of objects gives each of its leaves as a list, with the values of all the objects: which of them were
    together in one object is lost. Lists under a name in `solitary` are left as they are.
    """
    for key, value in event.items():
        name = f"{prefix}{_name(key)}"
        if type(value) in _SCALARS:
            yield name, value
        elif isinstance(value, Mapping):
            yield from flatten(value, solitary, f"{name}.")
        elif name not in solitary and _holds_objects(value):
            leaves: dict[tuple[str, ...], list[object]] = {}
            for path, leaf in _leaves(value, (name,), solitary):
                leaves.setdefault(path, []).append(leaf)
            # By path, not by name: what comes by two ways is given twice.
            yield from ((".".join(path), values) for path, values in leaves.items())
        else:
            yield name, value


def _name(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the name {shown(key)} is not a string")
    return key


def _holds_objects(value: object) -> bool:
    """True if this is a list with objects in it, or in a list in it."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return False
    return isinstance(value, _COLLECTIONS) and any(
        type(item) not in _SCALARS and (isinstance(item, Mapping) or _holds_objects(item)) for item in _items(value)
    )


def _items(value: Any) -> Iterable[object]:
    """Items of a list in any of its Python forms; an array without dimensions is its one item."""
    items: Iterable[object] = [value.item()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    return items


def _leaves(
    value: object, path: tuple[str, ...], solitary: Collection[str]
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Values within an object or a list, one by one, each with the path to it."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _leaves(member, (*path, _name(key)), solitary)
    elif not isinstance(value, _COLLECTIONS):
        yield path, value
    elif ".".join(path) in solitary:
        yield from ((path, item) for item in _items(value))
    else:
        for item in _items(value):
            if not isinstance(item, _COLLECTIONS):
                yield from _leaves(item, path, solitary)
                continue
            # A list in a list is no value, whatever it holds but objects: what else is in it stays one.
            within = list(_leaves(item, path, solitary))
            yield from ((way, leaf) for way, leaf in within if way != path)
            if rest := [leaf for way, leaf in within if way == path]:
                yield path, rest


def _is_nothing(value: object) -> bool:
    """True if there is no value in it, however deep: null, an empty list, an empty object."""
    if type(value) in _SCALARS:
        return value is None
    waiting, met = [value], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, (Mapping, *_COLLECTIONS)):
            # A list may contain itself.
            if id(one) not in met:
                met.add(id(one))
                # Not +=, by which an array would add itself.
                waiting.extend(one.values() if isinstance(one, Mapping) else _items(one))
        elif one is not None:
            return False
    return True


def read_event(schema: Schema, event: object, row: int) -> Reading:
    """Reads an event in dict form into canonical values. Names the schema lacks are left for `check_view`."""
    reading = Reading(row)
    if not isinstance(event, Mapping):
        found = "null" if event is None else shown(event)
        reading.refuse("", "form", event, f"{found} is no event: expected an object of attributes and values")
        return reading
    try:
        pairs = list(flatten(event, schema.solitary))
    except (RecursionError, TypeError) as error:
        reason = "the event is nested too deeply" if isinstance(error, RecursionError) else str(error)
        reading.refuse("", "form", None, reason)
        return reading
    return read_pairs(schema, pairs, row)


def read_pairs(schema: Schema, pairs: Iterable[tuple[str, object]], row: int) -> Reading:
    """Reads an event given as (dotted name, value) pairs into canonical values."""
    reading = Reading(row)
    attributes, given = schema.attributes, reading.given
    for name, value in pairs:
        if type(value) not in _SCALARS and isinstance(value, _COLLECTIONS):
            value = [item for item in _items(value) if not _is_nothing(item)] or None
        if value is None:
            continue
        if name in given:
            reading.refuse(name, "form", value, f"attribute {shown(name)} is given twice, once as {shown(value)}")
            continue
        given[name] = value
        attribute = attributes.get(name)
        if attribute is not None:
            _read_attribute(reading, attribute, value)
    return reading


def check_view(
    schema: Schema, reading: Reading, ignore_unknown: bool = False, judged: bool = False, waived: bool = False
) -> None:
    """Adds the event's violations of R1–R3, seen through the view of its types.

    An event that was `judged` before, perhaps before its types were tables, may be one that no table can take. Where
    they are `waived` for it, because there was no schema then, a type and mandatory attributes may be missing.
    """
    if not ignore_unknown:
        for name in reading.given:
            if name not in schema.attributes:
                _refuse_unknown(reading, name, "no attribute of the schema")
    names: Any = reading.values.get(EVENT_TYPE)
    if names is None and EVENT_TYPE not in reading.given and schema.default_event_type is not None:
        names = [schema.default_event_type]
    if names is None:
        if EVENT_TYPE not in reading.given and not waived:
            known = listing(list(schema.event_types))
            reading.refuse(EVENT_TYPE, "R1", None, f"the event names no type: event_type is one or more of {known}")
        return
    view = schema.view(names)
    for name in reading.given:
        if name not in view and name in schema.attributes and name != EVENT_TYPE:
            _refuse_unknown(reading, name, f"not of event type {', '.join(map(repr, names))}")
    needed: Collection[str] = view
    if schema.tables:
        operation = reading.values.get(OPERATION)
        if not judged and (reason := breaks_table(names, operation, schema.tables)):
            reading.refuse(OPERATION, "table", reading.given.get(OPERATION), reason)
        elif deletes(names, operation, schema.tables):
            needed = {name for table in names if table in schema.tables for name in schema.tables[table].key}
    if waived:
        needed = ()
    for name, annotation in view.items():
        if annotation.mandatory and name not in reading.given and name in needed:
            reading.refuse(name, "R2", None, f"mandatory attribute {shown(name)} is missing")
        elif not annotation.multiple and _several(reading.values.get(name)):
            _refuse_several(reading, name)


def violations(schema: Schema, event: object, row: int = 0) -> list[Violation]:
    """Violations of one event."""
    reading = read_event(schema, event, row)
    if not reading.malformed:
        check_view(schema, reading)
    return reading.violations


def _read_attribute(reading: Reading, attribute: Attribute, value: object) -> None:
    canonical: list[Value] = []
    items = value if type(value) is list else [value]
    for item in items:
        try:
            canonical.append(read_value(attribute.domain, item))
        except InadmissibleError as reason:
            rule: Rule = "R1" if attribute.name == EVENT_TYPE else "domain"
            message = f"attribute {shown(attribute.name)}: {shown(item)} {reason}"
            reading.refuse(attribute.name, rule, item, message)
    if len(canonical) != len(items):
        return
    if attribute.multiple:
        reading.values[attribute.name] = canonical
    elif len(canonical) == 1:
        reading.values[attribute.name] = canonical[0]
    else:
        _refuse_several(reading, attribute.name)


def _several(values: Value | list[Value] | None) -> bool:
    return isinstance(values, list) and len(values) > 1


def _refuse_several(reading: Reading, name: str) -> None:
    values = reading.given[name]
    reading.refuse(name, "R2", values, f"attribute {shown(name)} takes one value, the event gives {shown(values)}")


def _refuse_unknown(reading: Reading, name: str, why: str) -> None:
    value = reading.given[name]
    reading.refuse(name, "R3", value, f"attribute {shown(name)} is {why}; the event gives {shown(value)}")
