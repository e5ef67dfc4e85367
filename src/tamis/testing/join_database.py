"""The tables of a history kept by a database, and its joins run there as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import duckdb

from tamis.schema import EVENT_TYPE, OPERATION, Table
from tamis.testing.join_histories import VERSION, JoinHistory

_TYPES = {"integer": "BIGINT", "float": "DOUBLE", "string": "VARCHAR", "timestamp": "TIMESTAMP"}


class DuckTables:
    """Tables of a history, by plain SQL.

    A row's version is the number of the event that put it, so the rows that changed last have the highest.
    """

    def __init__(self, history: JoinHistory, database: duckdb.DuckDBPyConnection) -> None:
        self._history = history
        self._database = database
        self._latest: dict[str, datetime] = {}
        schema = history.schema
        for table in schema.tables.values():
            columns = ", ".join(f"{name} {_TYPES[schema.attributes[name].domain.kind]}" for name in table.attributes)
            database.execute(f"CREATE OR REPLACE TABLE {table.name} ({columns})")
        self._queries = {}
        for id, text in history.texts.items():
            shown = ", ".join(f"{table}.{VERSION}" for table in history.tables[id])
            self._queries[id] = f"SELECT {shown} FROM {text.split(' FROM ', 1)[1]}"

    def apply(self, event: Mapping[str, Any]) -> bool:
        """Makes one change; False if the table cannot take it."""
        table = self._history.schema.tables[event[EVENT_TYPE]]
        operation = event.get(OPERATION)
        row = {name: event[name] for name in table.attributes if name in event}
        keyed = " AND ".join(f"{name} = ?" for name in table.key)
        key = [row[name] for name in table.key]
        there = bool(table.key) and self._one(f"SELECT count(*) FROM {table.name} WHERE {keyed}", key) > 0
        if (operation == "insert" and there) or (operation in ("update", "delete") and not there):
            return False
        if operation != "delete" and self._is_late(table, row):
            return False
        if there:
            self._database.execute(f"DELETE FROM {table.name} WHERE {keyed}", key)
        if operation != "delete":
            marks = ", ".join("?" for _ in row)
            self._database.execute(f"INSERT INTO {table.name} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
            self._retain(table, row)
        return True

    def content(self, id: str) -> set[tuple[int, ...]]:
        """The versions of the rows of each result, in the schema's order of tables."""
        found = self._database.execute(self._queries[id]).fetchall()
        results = {tuple(row) for row in found}
        assert len(results) == len(found)
        return results

    def _is_late(self, table: Table, row: Mapping[str, Any]) -> bool:
        window, latest = table.retention.window, self._latest.get(table.name)
        return window is not None and latest is not None and _time(row) <= latest - timedelta(microseconds=window)

    def _retain(self, table: Table, row: Mapping[str, Any]) -> None:
        if table.retention.count is not None:
            newest = f"SELECT {VERSION} FROM {table.name} ORDER BY {VERSION} DESC LIMIT {table.retention.count}"
            self._database.execute(f"DELETE FROM {table.name} WHERE {VERSION} NOT IN ({newest})")
        if table.retention.window is not None:
            latest = self._latest[table.name] = max(_time(row), self._latest.get(table.name, _time(row)))
            bound = latest - timedelta(microseconds=table.retention.window)
            self._database.execute(f"DELETE FROM {table.name} WHERE moment <= ?", [bound])

    def _one(self, query: str, values: list[Any]) -> int:
        found = self._database.execute(query, values).fetchone()
        assert found is not None
        return int(found[0])


def _time(row: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(row["moment"].removesuffix("Z"))
