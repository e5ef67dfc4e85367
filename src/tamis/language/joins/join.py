"""A join subscription in normal form: the tables, what they join on, and a filter for each."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.language.joins.signature import Column, Signature
from tamis.language.normal_form import Filter


@dataclass(frozen=True, slots=True)
class Join:
    """Every combination of rows, one of each table, that agree on the signature's edges and pass their tables' filters.

    `filters` has one filter for each of the signature's tables, in their order, over the table's attributes by their
    own names; TRUE where there is no condition. `columns` is what is shown of each combination, None for everything.
    Joins compare by value. In templates (binding.py) the filters have slots.
    """

    signature: Signature
    filters: tuple[Filter, ...]
    columns: tuple[Column, ...] | None = None

    def filter(self, table: str) -> Filter:
        """What the table's rows must pass."""
        return self.filters[self.signature.tables.index(table)]
