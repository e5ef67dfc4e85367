"""Seeded histories of joined tables in plain SQL, and their results as computed by DuckDB."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from tamis.joins.arrivals import Result, Values
from tamis.joins.naive import NaiveTable
from tamis.schema import EVENT_TYPE, OPERATION, Schema
from tamis.testing.join_workloads import WrittenJoin

VERSION = "v"
"""An attribute of every row, which no two events have in common: it says which version of which row is meant."""

_JOINED: dict[str, tuple[Any, ...]] = {"x": (0, 1), "y": ("a", "b"), "z": (0, 1)}
_OWN: dict[str, tuple[Any, ...]] = {
    "a": tuple(n / 2 for n in range(11)),
    "b": tuple(range(6)),
    "c": ("p", "q", "pq", "r"),
}
_KINDS = {"x": "integer", "y": "string", "z": "integer", "a": "float", "b": "integer", "c": "string"}
_KINDS |= {VERSION: "integer", "k": "integer", "moment": "timestamp"}
_TABLES = ("R", "S", "T", "U")
_OPERATIONS = (None, None, None, "insert", "insert", "update", "update", "delete")
_SECONDS = 13


@dataclass(frozen=True)
class JoinHistory:
    """Schema with tables, joins over them in plain SQL, and changes in order."""

    seed: int
    schema: Schema
    texts: dict[str, str]
    tables: dict[str, tuple[str, ...]]
    """The tables of each join, in the schema's order."""
    events: list[dict[str, Any]]


def join_history(seed: int, events: int = 20, subscriptions: int = 3) -> JoinHistory:
    """History of two to four tables: composite join keys, cycles, keys of all sorts, every retention, some refused
    changes."""
    rng = random.Random(seed)
    schema = _schema(rng)
    texts, tables = {}, {}
    for number in range(rng.randint(1, subscriptions)):
        texts[f"j{number}"], tables[f"j{number}"] = _join(rng, schema)
    return JoinHistory(seed, schema, texts, tables, [_event(rng, schema, version) for version in range(events)])


def _schema(rng: random.Random) -> Schema:
    names = _TABLES[: rng.choice((2, 2, 3, 3, 4))]
    types: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    known: set[str] = set()
    for name in names:
        joined = {rng.choice(sorted(known or _JOINED))} | {one for one in _JOINED if rng.random() < 0.35}
        known |= joined
        own = {one: rng.choice(("optional", "mandatory")) for one in _OWN if rng.random() < 0.8}
        types[name] = own | dict.fromkeys((*joined, VERSION, "k", "moment"), "mandatory")
        retention = rng.choice(("all", "all", {"count": rng.randint(2, 4)}, {"window": "5 seconds", "by": "moment"}))
        key = rng.choice((["k"], ["k"], ["k", min(joined)], []))
        tables[name] = {"key": key, "join": sorted(joined), "retention": retention}
    return Schema.from_dict({"attributes": _KINDS, "event_types": types, "tables": tables})


def _join(rng: random.Random, schema: Schema) -> tuple[str, tuple[str, ...]]:
    left = rng.sample(list(schema.tables), len(schema.tables))
    taken, text = [first := left.pop()], first
    most = rng.randint(2, len(schema.tables))
    while len(taken) < most:
        able = [one for one in left if any(_shared(schema, one, other) for other in taken)]
        if not able:
            break
        left.remove(table := rng.choice(able))
        pairs = [(other, one) for other in taken for one in _shared(schema, table, other)]
        chosen = rng.sample(pairs, rng.randint(1, min(3, len(pairs))))
        once = all(sum(one in schema.tables[other].attributes for other in taken) == 1 for _, one in chosen)
        if once and rng.random() < 0.5:
            text += f" JOIN {table} USING ({', '.join(dict.fromkeys(one for _, one in chosen))})"
        else:
            text += f" JOIN {table} ON " + " AND ".join(f"{other}.{one} = {table}.{one}" for other, one in chosen)
        taken.append(table)
    conditions = [_condition(rng, schema, table) for table in taken for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    ordered = tuple(name for name in schema.tables if name in taken)
    shown = "*" if rng.random() < 0.8 else ", ".join(f"{table}.{VERSION}" for table in ordered)
    return f"SELECT {shown} FROM {text}{where}", ordered


def _condition(rng: random.Random, schema: Schema, table: str) -> str:
    one = _simple(rng, schema, table)
    match rng.randint(0, 7):
        case 0:
            return f"NOT ({one})"
        case 1:
            return f"({one} OR {_simple(rng, schema, table)})"
        case _:
            return one


def _simple(rng: random.Random, schema: Schema, table: str) -> str:
    has = [one for one in (*_OWN, *_JOINED, "moment") if one in schema.tables[table].attributes]
    name = rng.choice(has)
    column = f"{table}.{name}"
    if name == "moment":
        return f"{column} {rng.choice(('>=', '<'))} TIMESTAMP '{_moment(rng.randrange(_SECONDS))}'"
    low, high = sorted(rng.choices(_values(name), k=2))
    if rng.random() < 0.1:
        return f"{column} IS {rng.choice(('', 'NOT '))}NULL"
    if isinstance(low, str):
        return rng.choice(
            (
                f"{column} = '{low}'",
                f"{column} != '{low}'",
                f"{column} IN ('{low}', '{high}')",
                f"{column} LIKE '{low}%'",
            )
        )
    return rng.choice(
        (
            f"{column} BETWEEN {low} AND {high}",
            f"{column} BETWEEN {low} AND {high}",
            f"{column} {rng.choice(('<', '<=', '>', '>=', '=', '!='))} {low}",
            f"{column} IN ({low}, {high})",
        )
    )


def _event(rng: random.Random, schema: Schema, version: int) -> dict[str, Any]:
    table = schema.tables[rng.choice(list(schema.tables))]
    operation = rng.choice(_OPERATIONS if table.key else (None, "insert"))
    event: dict[str, Any] = {EVENT_TYPE: table.name}
    if operation is not None:
        event[OPERATION] = operation
    for name in table.key if operation == "delete" else table.attributes:
        mandatory = schema.event_types[table.name].annotations[name].mandatory
        if name == VERSION:
            event[name] = version
        elif mandatory or rng.random() < 0.8:
            event[name] = _moment(_near(rng, version)) + "Z" if name == "moment" else rng.choice(_values(name))
    return event


def _near(rng: random.Random, version: int) -> int:
    """Event time, which by and large grows with the events."""
    return max(0, min(_SECONDS - 1, version // 2 + rng.randint(-4, 2)))


def _values(name: str) -> tuple[Any, ...]:
    return _JOINED.get(name) or _OWN.get(name) or (0, 1, 2)


def _moment(second: int) -> str:
    return f"2024-05-01T10:00:{second:02}"


def _shared(schema: Schema, one: str, other: str) -> list[str]:
    return [name for name in schema.tables[one].join if name in schema.tables[other].join]


# Reference results: DuckDB joins the rows that pass, knowing nothing of Tamis.


def duckdb_content(join: WrittenJoin, tables: dict[str, NaiveTable], order: tuple[str, ...]) -> set[Result]:
    """Results of a generated join over tables in plain Python, rows in the given order of tables."""
    database = _database()
    identities = {}
    for number, name in enumerate(join.prefixes):
        passing = [(key, row) for key, row in tables[name].rows.items() if passes(join, name, row)]
        identities[name] = [key for key, _ in passing]
        columns: dict[str, Any] = {"row_number": pa.array(range(len(passing)), pa.int64())}
        for column, kind in (("x", pa.int64()), ("y", pa.string()), ("z", pa.float64())):
            columns[column] = pa.array([row.get(column, [None])[0] for _, row in passing], kind)
        database.register(f"t{number}", pa.table(columns))
    aliases = {name: f"t{number}" for number, name in enumerate(join.prefixes)}
    agreeing = [f"{aliases[a]}.{one} = {aliases[b]}.{one}" for a, b, one in join.agreeing]
    shown = ", ".join(f"{aliases[name]}.row_number" for name in order)
    query = f"SELECT {shown} FROM {', '.join(aliases.values())} WHERE {' AND '.join(agreeing)}"
    found = database.execute(query).fetchall()
    results = [tuple(identities[name][at] for name, at in zip(order, row, strict=True)) for row in found]
    assert len(set(results)) == len(results)
    return set(results)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Database shared by all queries, for opening one takes longer than a query. Tables are registered for each."""
    return duckdb.connect(config={"threads": 1})


def passes(join: WrittenJoin, table: str, row: Values) -> bool:
    """True if a row passes the conditions of a generated join on its table, by their meaning when they were drawn."""
    named = {f"{join.prefixes[table]}.{name}": values for name, values in row.items()}
    return all(meaning(named, False) for own, meaning in join.conditions if own == table)
