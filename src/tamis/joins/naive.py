"""Naive join server, the oracle of joins: tables as dicts, every join computed anew by nested loops, in plain Python.

The meaning of tables, their changes and their retention is defined here; every other implementation is held to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tamis.joins.arrivals import Identity, Result, Values
from tamis.language import DEFAULT_LIMITS, Limits
from tamis.language.comparisons import Comparisons
from tamis.language.joins.join import Signature
from tamis.language.joins.parsing import JoinTree, check_join
from tamis.matching.conditions import event_values
from tamis.matching.naive import holds
from tamis.schema import EVENT_TYPE, OPERATION, Schema, Table
from tamis.schema.tables import DELETE, INSERT, UPDATE


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one row of one table: its old version (None: not there), and its new one (None: removed)."""

    table: str
    identity: Identity
    before: Values | None
    after: Values | None


@dataclass(slots=True)
class NaiveTable:
    """Rows of one table by identity, the one that changed last at the end.

    `arrived` counts the rows that ever came, `latest` is the greatest time among them, where retention asks for it.
    """

    table: Table
    rows: dict[Identity, Values] = field(default_factory=dict)
    arrived: int = 0
    latest: int | None = None

    def refusal(self, operation: str | None, row: Values) -> str:
        """Reason why the table cannot take a change; empty if it can. The event is known to be valid."""
        name, key = self.table.name, self.key(row)
        if operation == INSERT and key in self.rows:
            return f"{name} has a row with the key {_shown(key)} already; update it, or leave the operation out"
        if operation in (UPDATE, DELETE) and key not in self.rows:
            return f"{name} has no row with the key {_shown(key)} to {operation}"
        if operation != DELETE and self.is_late(row):
            return f"the row is too late for {name}: it would have gone before it came"
        return ""

    def apply(self, operation: str | None, row: Values) -> list[Change]:
        """Makes a change that is not refused; returns its effects, rows removed by retention last."""
        name = self.table.name
        key = self.key(row)
        if operation == DELETE:
            return [Change(name, key, self.rows.pop(key), None)]
        self.arrived += 1
        if self.table.retention.by is not None:
            time = row[self.table.retention.by][0]
            self.latest = time if self.latest is None else max(self.latest, time)
        own = {attribute: row[attribute] for attribute in self.table.attributes if attribute in row}
        before = self.rows.pop(key, None)
        self.rows[key] = own
        return [Change(name, key, before, own), *self.expire()]

    def expire(self) -> list[Change]:
        count = self.table.retention.count
        gone = [key for key, row in self.rows.items() if self.is_late(row)]
        if count is not None:
            gone = list(self.rows)[: max(0, len(self.rows) - count)]
        return [Change(self.table.name, key, self.rows.pop(key), None) for key in gone]

    def is_late(self, row: Values) -> bool:
        retention = self.table.retention
        if retention.by is None or retention.window is None or self.latest is None:
            return False
        return bool(row[retention.by][0] <= self.latest - retention.window)

    def key(self, row: Values) -> Identity:
        if not self.table.key:
            return (self.arrived,)
        return tuple(row[attribute][0] for attribute in self.table.key)


class NaiveJoins:
    """Naive join server: all tables of a schema, and the joins over them, computed anew at every query."""

    def __init__(self, schema: Schema, texts: Mapping[str, str], limits: Limits = DEFAULT_LIMITS) -> None:
        self.schema = schema
        self.tables = {name: NaiveTable(table) for name, table in schema.tables.items()}
        self.joins = {id: check_join(text, schema, Comparisons(text, limits)) for id, text in texts.items()}

    def apply(self, events: Sequence[Mapping[str, object]] | pa.RecordBatch) -> tuple[list[Change], dict[int, str]]:
        """Applies events that satisfy the schema in order; returns the changes, and refusals with reasons."""
        changes: list[Change] = []
        refused: dict[int, str] = {}
        for number, values in enumerate(event_values(self.schema.to_arrow(events), self.schema)):
            types = values.get(EVENT_TYPE, [self.schema.default_event_type])
            for table in (self.tables[name] for name in types if name in self.tables):
                operation = values[OPERATION][0] if OPERATION in values else None
                if reason := table.refusal(operation, values):
                    refused[number] = reason
                else:
                    changes += table.apply(operation, values)
        return changes, refused

    def content(self, id: str) -> dict[Result, tuple[Values, ...]]:
        """Content of a join now: the rows of each result, in the order of the signature's tables."""
        join = self.joins[id]
        return {tuple(identity for identity, _ in rows): tuple(row for _, row in rows) for rows in self._results(join)}

    def _results(self, join: JoinTree) -> Iterator[tuple[tuple[Identity, Values], ...]]:
        selected = [
            [
                (key, row)
                for key, row in self.tables[name].rows.items()
                if holds(join.conditions[name], row, self.schema)
            ]
            for name in join.signature.tables
        ]
        return combinations(join.signature, selected)


def combinations(
    signature: Signature, rows: Sequence[Sequence[tuple[Identity, Values]]]
) -> Iterator[tuple[tuple[Identity, Values], ...]]:
    """Combinations of one row of each table in which all edges agree."""
    tables = signature.tables

    def agrees(chosen: Sequence[tuple[Identity, Values]], row: Values) -> bool:
        return all(
            other[attribute] == row[attribute]
            for table, (_, other) in zip(tables, chosen, strict=False)
            for attribute in signature.between(table, tables[len(chosen)])
        )

    def extend(chosen: tuple[tuple[Identity, Values], ...]) -> Iterator[tuple[tuple[Identity, Values], ...]]:
        if len(chosen) == len(tables):
            yield chosen
            return
        for identity, row in rows[len(chosen)]:
            if agrees(chosen, row):
                yield from extend((*chosen, (identity, row)))

    return extend(())


def _shown(key: Identity) -> str:
    return repr(key[0]) if len(key) == 1 else repr(key)
