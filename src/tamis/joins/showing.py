"""Results as people see them: one dict a result, under the names that its SELECT asks for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from tamis.joins.naive import Values
from tamis.language.joins.signature import Column, Signature
from tamis.schema import Schema

Shown: TypeAlias = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Showing:
    """How the results of one join are shown: columns, each under its attribute's name where that says which is meant.

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

    def _value(self, name: str, value: Any) -> Any:
        if self._schema.attributes[name].domain.kind != "timestamp":
            return value
        try:
            return _EPOCH + timedelta(microseconds=value)
        except OverflowError:
            return value
