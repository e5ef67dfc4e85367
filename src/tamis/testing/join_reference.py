"""What joins come to, worked out by a database: DuckDB joins the rows that pass, knowing nothing of Tamis."""

from __future__ import annotations

from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from tamis.joins.naive import NaiveTable
from tamis.joins.rows import Result, Values
from tamis.testing.join_workloads import WrittenJoin


def duckdb_content(join: WrittenJoin, tables: dict[str, NaiveTable], order: tuple[str, ...]) -> set[Result]:
    """The results of a generated join over tables in plain Python, rows in the given order of tables."""
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
    """One for all, for opening one takes longer than the query. Tables are registered anew for every query."""
    return duckdb.connect(config={"threads": 1})


def passes(join: WrittenJoin, table: str, row: Values) -> bool:
    """Whether a row passes the conditions of a generated join on its table, as they were meant when they were drawn."""
    named = {f"{join.prefixes[table]}.{name}": values for name, values in row.items()}
    return all(meaning(named, False) for own, meaning in join.conditions if own == table)
