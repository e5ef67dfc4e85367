"""Tables and subscriptions at work: a layout, and the scheme that goes by it."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.arrays import Int64s
from tamis.joins.layout import Layout
from tamis.joins.roster import Subscribed
from tamis.joins.schemes.scheme import Scheme


@dataclass(frozen=True, slots=True)
class LaidOut:
    """Tables, columns and edges by the numbers of one layout; a new layout comes with a new scheme."""

    layout: Layout
    scheme: Scheme

    def selected(self, found: Subscribed, table: str, rows: Int64s) -> Int64s:
        """Rows of a table that a subscription selects by the considered attributes."""
        wide = self.scheme.state.shape.considered[self.layout.numbers[table]]
        return self._within(found, table, rows, wide)

    def within(self, found: Subscribed, table: str, rows: Int64s) -> Int64s:
        """Rows of a table that lie in all of a subscription's intervals."""
        wide = self.scheme.state.shape.widths[self.layout.numbers[table]]
        return self._within(found, table, rows, wide)

    def _within(self, found: Subscribed, table: str, rows: Int64s, wide: int) -> Int64s:
        state, number = self.scheme.state, self.layout.numbers[table]
        column, ranges = int(state.shape.first_column[number]), state.subscriptions
        low, high = (part[found.number, column : column + wide] for part in (ranges.low, ranges.high))
        values = state.rows[number].values[rows, :wide]
        return rows[((low <= values) & (values <= high)).all(axis=1)]

    def keys(self, found: Subscribed, one: str, other: str, whose: str) -> Int64s:
        """By row of one of two tables: the key by which a subscription joins them."""
        edge = self.layout.edge_between(found.group.signature, one, other)
        return self.scheme.state.rows[self.layout.numbers[whose]].keys[edge]
