"""Joins shown to users: their tables and conditions, current results, and the changes that an event would make."""

from __future__ import annotations

from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field

from tamis.joins.arrivals import Identity, Showing, Values
from tamis.joins.client import ContentChange, Forgotten, JoinClient, Kept, Note
from tamis.language import print_filter
from tamis.language.joins import Join, parse_join
from tamis.matching.conditions import event_values
from tamis.schema import EVENT_TYPE, OPERATION, Schema
from tamis.schema.tables import DELETE
from tamis.service.examining.language import Reads, Shows
from tamis.service.store.joins import read_rows, row_text

MOST_ROWS: Final = 20_000  # of one table, the newest, that somebody who waits is answered from
SHOWN: Final = 50
EXAMPLE: Final[dict[str, Any]] = {
    "columns": ["Symbol", "PER", "Analyst", "Rating"],
    "tables": [
        {"table": "Stocks", "condition": "PER BETWEEN 45.0 AND 70.0", "rows": 2_000},
        {"table": "Reviews", "condition": "Rating >= 6.0", "rows": 40_000},
    ],
    "on": [{"left": "Stocks", "right": "Reviews", "attributes": ["Symbol"]}],
}


class JoinedTable(BaseModel):
    """Table of a join: which of its rows take part, and how many rows it has now."""

    table: str
    condition: str
    rows: int


class JoinedOn(BaseModel):
    """Join condition: two tables, and the attributes on which their rows agree."""

    left: str
    right: str
    attributes: list[str]


class JoinForm(BaseModel):
    """Tables and conditions of a join."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    columns: list[str] = Field(description="Columns of the results, in order")
    tables: list[JoinedTable]
    on: list[JoinedOn]


class WouldChange(BaseModel):
    """Changes that an event would make to a join's content, as the tables are now."""

    table: str | None = Field(description="Table that the event changes; null if it is not in the join")
    added: list[dict[str, Any]] = Field(description=f"Results that would come, at most {SHOWN}")
    removed: list[dict[str, Any]] = Field(description=f"Results that would go, at most {SHOWN}")
    examined: int = Field(description=f"Rows evaluated; of each table no more than the newest {MOST_ROWS:,}")


def join_form(service: Shows, text: str) -> JoinForm:
    """Form of a join; `FilterError` if it can no longer be parsed."""
    schema = service.schema
    join = parse_join(text, schema, service.limits.filter)
    counts = service.store.joins.row_counts()
    edges = join.signature.edges
    return JoinForm(
        columns=list(Showing(join.signature, join.columns, schema).labels),
        tables=[
            JoinedTable(table=table, condition=_condition(join, table, schema), rows=counts.get(table, 0))
            for table in join.signature.tables
        ],
        on=[JoinedOn(left=edge.left, right=edge.right, attributes=list(edge.attributes)) for edge in edges],
    )


def condition_on(service: Reads, text: str, table: str) -> str:
    """Condition of a join on the rows of one of its tables, as a filter."""
    schema = service.schema
    return _condition(parse_join(text, schema, service.limits.filter), table, schema)


def _condition(join: Join, table: str, schema: Schema) -> str:
    return print_filter(join.filter(table), schema)


class JoinedNow:
    """Join over the newest rows of its tables in the store.

    `rows` are the results, as JSON has them; `examined` counts the rows of tables.
    """

    def __init__(self, service: Shows, text: str) -> None:
        self._schema = service.schema
        self._client = JoinClient(text, self._schema, None, service.limits.filter)
        self.examined = 0
        parts = []
        for table in self._client.signature.tables:
            identities, batch = read_rows(service.store.joins.table(table, MOST_ROWS).rows, self._schema)
            rows = event_values(batch, self._schema)
            self.examined += len(rows)
            parts += [Kept(table, one, self._own(table, row)) for one, row in zip(identities, rows, strict=True)]
        self._client.apply([Note(0, tuple(parts))])
        self.rows = [_in_json(row) for row in self._client.content()]

    def would_change(self, event: dict[str, Any]) -> WouldChange:
        """Changes that an event, valid under the schema, would make. It is not refused, whatever the table holds."""
        (values,) = event_values(self._schema.to_arrow([event]), self._schema)
        table = next((name for name in values.get(EVENT_TYPE, []) if name in self._client.signature.tables), None)
        change = ContentChange([], [])
        if table is not None:
            identity = self._identity(table, values)
            gone = values.get(OPERATION) == [DELETE]
            part = Forgotten(table, identity) if gone else Kept(table, identity, self._own(table, values))
            change = self._client.apply([Note(1, (part,))])
        return WouldChange(
            table=table,
            added=[_in_json(row) for row in change.added[:SHOWN]],
            removed=[_in_json(row) for row in change.removed[:SHOWN]],
            examined=self.examined,
        )

    def _identity(self, table: str, values: Values) -> Identity:
        key = self._schema.tables[table].key
        return tuple(values[name][0] for name in key) if key else ("new",)

    def _own(self, table: str, row: Values) -> Values:
        return {name: row[name] for name in self._schema.tables[table].attributes if name in row}


def _in_json(row: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = orjson.loads(row_text(row))
    return read
