"""Rows of tables and results of joins as clients, services and explanations name them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from tamis.language.joins.join import Column, Signature
from tamis.matching.event_values import Values
from tamis.schema import Schema
from tamis.schema.timestamps import to_datetime

__all__ = ["Identity", "Result", "Values"]

Identity: TypeAlias = tuple[Hashable, ...]
"""What tells a row of a table from others: the values of its key, or the number of its arrival where there is none."""
Result: TypeAlias = tuple[Identity, ...]
"""The rows that a result is made of, one of each table, in the order of the signature's tables."""


# Results as people see them: one dict a result, under the names that its SELECT asks for.

Shown: TypeAlias = dict[str, Any]


class Showing:
    """Presentation of a join's results: columns, each under its attribute's name where that says which is meant.

    An attribute that several tables have is shown once if they agree on it, else under `table.attribute`.
    """

    def __init__(self, signature: Signature, columns: Sequence[Column] | None, schema: Schema) -> None:
        self._schema = schema
        self._signature = signature
        everything = [(table, name) for table in signature.tables for name in schema.tables[table].attributes]
        chosen = everything if columns is None else list(columns)
        self.labels: dict[str, Column] = {}
        for column in chosen:
            self.labels.setdefault(self._label(column), column)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables whose rows make a result, in their order."""
        return self._signature.tables

    def _label(self, column: Column) -> str:
        table, name = column
        others = [other for other in self._signature.tables if name in self._schema.tables[other].attributes]
        agreed = all(other == table or name in self._signature.between(table, other) for other in others)
        return name if agreed else f"{table}.{name}"

    def show(self, rows: Sequence[Values]) -> Shown:
        """One result, given its rows in the order of the signature's tables; what is absent is left out."""
        by_table = dict(zip(self._signature.tables, rows, strict=True))
        shown: Shown = {}
        for label, (table, name) in self.labels.items():
            if name in by_table[table]:
                values = [self._value(name, value) for value in by_table[table][name]]
                shown[label] = values if self._schema.attributes[name].multiple else values[0]
        return shown

    def needed(self, table: str) -> list[str]:
        """The attributes of a table that are shown."""
        return [name for own, name in self.labels.values() if own == table]

    def structs(self, rows: Mapping[str, pa.RecordBatch]) -> pa.StructArray:
        """Many results, given the rows of each table: a struct a result, null where something is absent."""
        arrays = [rows[table].column(name) for table, name in self.labels.values()]
        return pa.StructArray.from_arrays(arrays, names=list(self.labels))

    def shown(self, results: pa.StructArray) -> list[Shown]:
        """Structs as `show` would have made them."""
        columns = []
        for (label, (_, name)), column in zip(self.labels.items(), results.flatten(), strict=True):
            if self._schema.attributes[name].domain.kind == "timestamp":
                whole = pa.int64() if pa.types.is_timestamp(column.type) else pa.list_(pa.int64())
                listed = column.cast(whole).to_pylist()
                columns.append((label, [self._values(name, value) for value in listed]))
            else:
                columns.append((label, column.to_pylist()))
        return [
            {label: values[place] for label, values in columns if values[place] not in (None, [])}
            for place in range(len(results))
        ]

    def _values(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(name, one) for one in value]
        return value if value is None else self._value(name, value)

    def _value(self, name: str, value: Any) -> Any:
        if self._schema.attributes[name].domain.kind != "timestamp":
            return value
        return to_datetime(value)
