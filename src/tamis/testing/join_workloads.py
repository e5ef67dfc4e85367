"""Hypothesis strategies for joins: schemas with tables, joins over them, and histories of changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tamis.schema import EVENT_TYPE, OPERATION, Attribute, Schema, Table
from tamis.testing.edge_values import values
from tamis.testing.written import Meaning, Written, disjunction, draw_condition, negation, quoted_name

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TABLES = ("R", "S", "T", "two words", "old.stocks", "join")
_JOINED = {"x": (0, 1, 2), "y": ("a", "b"), "z": (0.0, -0.0, 1.5)}
_KINDS: dict[str, Any] = {
    "x": "integer",
    "y": "string",
    "z": "float",
    "id": "integer",
    "time": "timestamp",
    "number": "integer",
    "price": "float",
    "title": "string",
    "sold": "boolean",
    "tags": "string",
    "size": {"type": "enumerated", "values": ["S", "M", "L"], "order": [["S", "M"], ["M", "L"]]},
    "kind": {"type": "hierarchical", "tree": {"any": {"bed": {}, "seat": {"chair": {}, "bench": {}}}}},
    "odd.name": "integer",
}
_OWN = ("number", "price", "title", "sold", "tags", "size", "kind", "odd.name")
_RETENTIONS: tuple[Any, ...] = ("all", "all", {"count": 1}, {"count": 3}, {"window": "5 seconds", "by": "time"})


@dataclass(frozen=True)
class WrittenJoin:
    """Join as text beside its meaning: its tables, the columns that agree, and each table's conditions.

    The meaning of a condition is of values under qualified names (`alias.attribute`), as `prefixes` has them.
    """

    text: str
    prefixes: dict[str, str]
    agreeing: tuple[tuple[str, str, str], ...]
    conditions: tuple[tuple[str, Meaning], ...]

    def __repr__(self) -> str:
        return f"WrittenJoin({self.text!r})"


@dataclass(frozen=True)
class GeneratedJoins:
    """Small workload of joins in plain Python: subscriptions by id, events as dicts, in order."""

    schema: Schema
    subscriptions: dict[str, WrittenJoin]
    events: list[dict[str, Any]]

    @property
    def texts(self) -> dict[str, str]:
        return {id: join.text for id, join in self.subscriptions.items()}

    def __repr__(self) -> str:
        form = self.schema.to_dict()
        return f"GeneratedJoins(Schema.from_dict({form!r}), texts={self.texts!r}, events={self.events!r})"


@st.composite
def join_schemas(draw: st.DrawFn, max_tables: int = 4) -> Schema:
    """Schemas of two or more tables, each joined with one before it: composite join keys, cycles, keys of all sorts."""
    names = draw(st.lists(st.sampled_from(_TABLES), min_size=2, max_size=max_tables, unique=True))
    event_types: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    known: set[str] = set()
    for name in names:
        joined = {draw(st.sampled_from(sorted(known or _JOINED)))}
        joined |= {other for other in _JOINED if draw(st.integers(0, 3)) == 1}
        known |= joined
        own = {one: draw(_annotations()) for one in _OWN if draw(st.integers(0, 2)) == 1}
        own |= dict.fromkeys(joined, "mandatory")
        if draw(st.integers(0, 5)) == 1:
            own |= {one: "mandatory" for one in _JOINED if one not in joined}  # there, but not to join by
        retention = draw(st.sampled_from(_RETENTIONS))
        own |= {"id": "mandatory", "time": "mandatory"}
        key = draw(st.sampled_from((["id"], ["id"], [], sorted(joined), ["id", min(joined)])))
        event_types[name] = own
        tables[name] = {"key": key, "join": sorted(joined), "retention": retention}
    event_types["other"] = {"tags": ["optional", "multiple"], "x": "optional"}
    return Schema.from_dict({"attributes": _KINDS, "event_types": event_types, "tables": tables})


def _annotations() -> st.SearchStrategy[str]:
    return st.sampled_from(("optional", "mandatory"))


@dataclass(frozen=True)
class _Qualified:
    """Columns that conditions on one table are drawn over."""

    attributes: Mapping[str, Attribute]


@st.composite
def joins(draw: st.DrawFn, schema: Schema) -> WrittenJoin:
    """Joins over a connected part of the schema's tables, with conditions of every form on some of them."""
    left = list(draw(st.permutations(list(schema.tables))))
    taken = [left.pop()]
    most = draw(st.integers(2, len(schema.tables)))
    aliased = draw(st.booleans())
    prefixes = {taken[0]: "t0" if aliased else taken[0]}
    text = _source(taken[0], prefixes)
    agreeing: list[tuple[str, str, str]] = []
    while len(taken) < most:
        able = [one for one in left if any(_shared(schema, one, other) for other in taken)]
        if not able:
            break
        table = draw(st.sampled_from(able))
        left.remove(table)
        prefixes[table] = f"t{len(taken)}" if aliased else table
        options = [(other, one) for other in taken for one in _shared(schema, table, other)]
        pairs = draw(st.lists(st.sampled_from(options), min_size=1, max_size=3, unique=True))
        agreeing += [(other, table, one) for other, one in pairs]
        text += f" JOIN {_source(table, prefixes)} {draw(_how(schema, table, pairs, taken, prefixes))}"
        taken.append(table)
    conditions = [(table, draw(_condition(schema, table, prefixes))) for table in taken for _ in range(draw(_FEW))]
    if conditions:
        text += " WHERE " + " AND ".join(condition.text for _, condition in conditions)
    meanings = tuple((table, condition.meaning) for table, condition in conditions)
    return WrittenJoin(f"SELECT * FROM {text}", prefixes, tuple(agreeing), meanings)


@st.composite
def _how(
    draw: st.DrawFn,
    schema: Schema,
    table: str,
    pairs: list[tuple[str, str]],
    taken: list[str],
    prefixes: Mapping[str, str],
) -> str:
    """Join condition: ON, or USING where no other table has the attributes."""
    holders = {one: [other for other in taken if one in schema.tables[other].attributes] for _, one in pairs}
    if all(len(found) == 1 for found in holders.values()) and draw(st.booleans()):
        return f"USING ({', '.join(dict.fromkeys(one for _, one in pairs))})"
    sides = [(f"{prefixes[other]}.{one}", f"{prefixes[table]}.{one}") for other, one in pairs]
    return "ON " + " AND ".join(f"{quoted_name(left)} = {quoted_name(right)}" for left, right in sides)


@st.composite
def _condition(draw: st.DrawFn, schema: Schema, table: str, prefixes: Mapping[str, str]) -> Written:
    names = {name: f"{prefixes[table]}.{name}" for name in schema.tables[table].attributes}
    qualified: Any = _Qualified(
        {
            full: Attribute(full, schema.attributes[name].domain, schema.attributes[name].multiple, 0)
            for name, full in names.items()
        }
    )
    one = draw_condition(draw, qualified)
    form = draw(st.integers(0, 5))
    if form == 1:
        return Written(f"NOT ({one.text})", negation(one.meaning))
    if form == 2:
        other = draw_condition(draw, qualified)
        return Written(f"({one.text} OR {other.text})", disjunction([one.meaning, other.meaning]))
    return one


def _source(table: str, prefixes: Mapping[str, str]) -> str:
    return quoted_name(table) if prefixes[table] == table else f"{quoted_name(table)} AS {prefixes[table]}"


def _shared(schema: Schema, one: str, other: str) -> list[str]:
    return [name for name in schema.tables[one].join if name in schema.tables[other].join]


@st.composite
def changes(draw: st.DrawFn, schema: Schema) -> dict[str, Any]:
    """Event of a table, valid by the schema; its table may still refuse it, depending on its content."""
    table = schema.tables[draw(st.sampled_from(list(schema.tables)))]
    operation = draw(st.sampled_from(_KEYED if table.key else (None, "insert")))
    event: dict[str, Any] = {EVENT_TYPE: table.name}
    if operation is not None:
        event[OPERATION] = operation
    for name in table.key if operation == "delete" else table.attributes:
        mandatory = schema.event_types[table.name].annotations[name].mandatory
        if mandatory or draw(st.integers(0, 3)):
            event[name] = draw(_value(schema, table, name))
    return event


def _value(schema: Schema, table: Table, name: str) -> st.SearchStrategy[Any]:
    domain = schema.attributes[name].domain
    if name in _JOINED:
        return st.sampled_from(_JOINED[name])
    if name == "id":
        return st.integers(0, 3)
    if name == "time":
        return st.integers(0, 12).map(lambda second: _EPOCH + timedelta(seconds=second))
    return values(domain)


@st.composite
def join_workloads(
    draw: st.DrawFn, max_subscriptions: int = 4, max_events: int = 25, max_tables: int = 4
) -> GeneratedJoins:
    """Schemas with tables, joins over them, and a history of changes, some of which tables have to refuse."""
    schema = draw(join_schemas(max_tables))
    written = [draw(joins(schema)) for _ in range(draw(st.integers(1, max_subscriptions)))]
    # Most histories are long: short ones leave the tables all but empty.
    count = draw(st.integers(max_events // 2, max_events)) if max_events > 1 else max_events
    events = [draw(changes(schema)) for _ in range(count)]
    return GeneratedJoins(schema, {f"j{number}": join for number, join in enumerate(written)}, events)


_FEW = st.sampled_from((0, 0, 0, 1, 1, 2))
_KEYED = (None, None, None, "insert", "insert", "update", "delete")
