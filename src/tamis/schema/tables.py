"""Tables, event types whose events are rows that stay, for joins (Chandramouli & Yang 2008): keys, operations,
retention; readers and writer of their dict form.

An event of a table's type is a change of the table. The attribute `operation` says which: insert, update or delete; an
event without it puts the row, in place of the one with its key if there is one. It is an attribute like others, that
every schema with tables has, optional in the tables' event types.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from tamis.errors import SHOWN, SchemaError, shown
from tamis.schema.domains import Annotation, Attribute, Domain, EnumeratedDomain, EventType, listing

# Reading of plain data (YAML, JSON, dicts) with every mistake placed: all sections of a schema's form use it.


def within(place: str, key: object) -> str:
    """Path of `key` inside `place`, quoted where it would not read as a path."""
    if isinstance(key, str) and len(key) <= SHOWN and key.isidentifier():
        return f"{place}.{key}" if place else key
    return f"{place}[{shown(key)}]"


def mapping(given: object, place: str, remedy: str) -> Mapping[str, object]:
    """`given`, if it is a mapping."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"expected a mapping, found {_shown(given)}", place, remedy)
    return given


def sequence(given: object, place: str, remedy: str) -> list[object]:
    """`given` as a list, if it is one."""
    if not isinstance(given, list | tuple):
        raise SchemaError(f"expected a list, found {_shown(given)}", place, remedy)
    return list(given)


def text_of(given: object, place: str) -> str:
    """`given`, if it is a string of whole characters."""
    if not isinstance(given, str):
        raise SchemaError(f"expected a string, found {_shown(given)}", place, _as_text(given))
    if any("\ud800" <= character <= "\udfff" for character in given):
        raise SchemaError(f"{shown(given)} holds a lone surrogate", place, "remove it")
    return given


def _shown(given: object) -> str:
    return "nothing" if given is None else shown(given)


def _as_text(given: object) -> str:
    """Advice for a value that should be a string. YAML has taken some words for other things."""
    if given is None:
        return "write it after the colon"
    if isinstance(given, bool):
        return "quote it, for without quotes yes, no, on and off are truth values in YAML"
    if isinstance(given, int | float | date):
        return f"quote it: '{given if isinstance(given, date) else shown(given)}'"
    return "write one text"


def name_of(given: object, place: str) -> str:
    """`given`, if it can be a name."""
    name = text_of(given, place)
    # Arrow hands column names over as C strings, which a NUL would cut short.
    if not name or "\0" in name:
        raise SchemaError("a name is not empty and holds no NUL", place, "give it another name")
    return name


def known_keys(given: Mapping[str, object], known: Iterable[str], place: str) -> None:
    """Refuses unknown keys."""
    for key in given:
        if key not in known:
            raise SchemaError(f"unknown key {shown(key)}", within(place, key), f"the keys are {', '.join(known)}")


def defined(name: str, known: Collection[str], what: str, place: str) -> str:
    """`name`, if it is among the known ones."""
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        remedy = "declare it" + (f", or use one of {listing(list(known))}" if known else "")
        if close:
            remedy = f"did you mean {shown(close[0])}?"
        raise SchemaError(f"{what} {shown(name)} is not defined", place, remedy)
    return name


OPERATION = "operation"
INSERT, UPDATE, DELETE = "insert", "update", "delete"
OPERATIONS = EnumeratedDomain((INSERT, UPDATE, DELETE))
ENVELOPE = "ce."

_KEYS = ("key", "join", "retention")
_UNITS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_DURATION = re.compile(r"([0-9]{1,18})\s*([a-z]+?)s?")
_LONGEST = 1 << 62
_RETENTION_REMEDY = "write all, {count: 100000} or {window: 7 days, by: time}"


@dataclass(frozen=True, slots=True)
class Retention:
    """Retention of a table's rows: for good, or the latest `count`, or those within `window` of the latest time.

    Rows are counted by their last change. `by` is the timestamp that the window (microseconds) goes by.
    """

    count: int | None = None
    window: int | None = None
    by: str | None = None


ALL = Retention()


@dataclass(frozen=True, slots=True)
class Table:
    """Table: an event type whose events are rows.

    `key` are the attributes that tell rows apart; without any, rows are only appended. `join` are those by which it may
    be joined with other tables that list them too. All are mandatory, and have one value wherever they occur.
    `attributes` are all that a row has, in the schema's order: those of the event type but for `operation`, and for the
    attributes that CloudEvents carry around their data (`ce.…`).
    """

    name: str
    key: tuple[str, ...]
    join: tuple[str, ...]
    retention: Retention = ALL
    attributes: tuple[str, ...] = ()


def with_operation(tables: object, domains: dict[str, Domain]) -> dict[str, Domain]:
    """Domains of the attributes, with `operation` where there are tables."""
    if not tables:
        return domains
    if domains.setdefault(OPERATION, OPERATIONS) != OPERATIONS:
        raise SchemaError(
            "in a schema with tables this attribute says what an event does to its table",
            within("attributes", OPERATION),
            "give the attribute another name",
        )
    return domains


def changeable(tables: object, event_types: dict[str, EventType]) -> dict[str, EventType]:
    """Event types, where those of tables have `operation`."""
    listed = tables if isinstance(tables, Mapping) else {}
    optional = Annotation(mandatory=False)
    changed = {}
    for name, event_type in event_types.items():
        held = event_type.annotations
        if listed and held.get(OPERATION, optional) != optional:
            place = within(within("event_types", name), OPERATION)
            raise SchemaError("an event of a table may leave it out, and gives one", place, "write optional")
        changed[name] = EventType(name, {**held, OPERATION: optional}) if name in listed else event_type
    return changed


def read_tables(
    given: object, attributes: Mapping[str, Attribute], event_types: Mapping[str, EventType]
) -> dict[str, Table]:
    """Reads the section `tables` of a schema's form."""
    tables: dict[str, Table] = {}
    for name, definition in mapping({} if given is None else given, "tables", "write {lot: {key: [...]}}").items():
        place = within("tables", name)
        defined(text_of(name, place), event_types, "event type", place)
        fields = mapping({} if definition is None else definition, place, "write {key: [...], join: [...]}")
        known_keys(fields, _KEYS, place)
        held = event_types[name].annotations
        key, join = (
            _read_attributes(fields.get(part), within(place, part), name, held, attributes) for part in ("key", "join")
        )
        retention = _read_retention(fields.get("retention"), within(place, "retention"), name, held, attributes)
        own = tuple(one for one in attributes if one in held and one != OPERATION and not one.startswith(ENVELOPE))
        tables[name] = Table(name, key, join, retention, own)
    return tables


def breaks_table(names: Collection[str], operation: object, tables: Mapping[str, Table]) -> str:
    """Faults of an event of these types in a table, whatever is in the table; empty if it can be done."""
    changed = [name for name in names if name in tables]
    if len(changed) > 1:
        return f"the event is a row of {' and of '.join(map(repr, changed))}; send one event for each table"
    if changed and operation in (UPDATE, DELETE) and not tables[changed[0]].key:
        return f"{changed[0]!r} has no key, so its rows are only added; there is nothing to {operation}"
    return ""


def deletes(names: Collection[str], operation: object, tables: Mapping[str, Table]) -> bool:
    """True if the event deletes a row, and so needs to give no more than the row's key."""
    return operation == DELETE and any(name in tables for name in names)


def write_table(table: Table) -> dict[str, object]:
    """Canonical form of a table."""
    form: dict[str, object] = {}
    if table.key:
        form["key"] = list(table.key)
    if table.join:
        form["join"] = list(table.join)
    retention = table.retention
    if retention.count is not None:
        form["retention"] = {"count": retention.count}
    elif retention.window is not None:
        form["retention"] = {"window": write_duration(retention.window), "by": retention.by}
    return form


def read_duration(given: object, place: str) -> int:
    """Reads a duration such as `7 days`, in microseconds."""
    found = _DURATION.fullmatch(given.strip()) if isinstance(given, str) else None
    unit = 0 if found is None else _UNITS.get(found[2], 0)
    length = 0 if found is None else int(found[1]) * unit
    if not 0 < length < _LONGEST:
        units = ", ".join(f"{name}s" for name in _UNITS)
        raise SchemaError(f"{shown(given)} is no duration", place, f"write a whole number and a unit: {units}")
    return length


def write_duration(length: int) -> str:
    """Writes a duration in the largest unit that goes into it."""
    unit, size = next((unit, size) for unit, size in _UNITS.items() if length % size == 0)
    return f"{length // size} {unit}{'' if length == size else 's'}"


def _read_attributes(
    given: object, place: str, table: str, held: Mapping[str, Annotation], attributes: Mapping[str, Attribute]
) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for position, listed in enumerate(sequence([] if given is None else given, place, "list attributes: [a, b]")):
        here = within(place, position)
        name = defined(text_of(listed, here), held, f"attribute of {table!r}", here)
        if name in names:
            raise SchemaError(f"{name!r} is listed twice", here, "remove one")
        _require_single(name, here, table, held, attributes)
        if attributes[name].domain.kind == "binary":
            raise SchemaError(f"{name!r} is binary, by which rows are not compared", here, "choose another attribute")
        names[name] = None
    return tuple(sorted(names, key=lambda name: attributes[name].number))


def _require_single(
    name: str, place: str, table: str, held: Mapping[str, Annotation], attributes: Mapping[str, Attribute]
) -> None:
    if not held[name].mandatory:
        raise SchemaError(f"{name!r} is optional in {table!r}", place, "make it mandatory, or choose another")
    if attributes[name].multiple:
        raise SchemaError(f"{name!r} may have several values", place, "make it unique, or choose another")


def _read_retention(
    given: object, place: str, table: str, held: Mapping[str, Annotation], attributes: Mapping[str, Attribute]
) -> Retention:
    if given is None or given == "all":
        return ALL
    fields = mapping(given, place, _RETENTION_REMEDY)
    if set(fields) == {"count"}:
        count = fields["count"]
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise SchemaError(f"{shown(count)} is no number of rows", within(place, "count"), "write 1 or more")
        return Retention(count=count)
    if set(fields) != {"window", "by"}:
        raise SchemaError(f"no such retention: {', '.join(map(repr, fields)) or 'empty'}", place, _RETENTION_REMEDY)
    here = within(place, "by")
    by = defined(text_of(fields["by"], here), held, f"attribute of {table!r}", here)
    _require_single(by, here, table, held, attributes)
    if attributes[by].domain.kind != "timestamp":
        raise SchemaError(f"{by!r} is {attributes[by].domain.kind}", here, "choose a timestamp")
    return Retention(window=read_duration(fields["window"], within(place, "window")), by=by)
