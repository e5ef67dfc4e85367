"""Joins as plain sets of rows, and a client that does what messages say: what the schemes are held to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from tamis.joins.index.messages import Form, Messages, Operation, accepts
from tamis.joins.index.ranges import Ranges, Shape

Row = int


@dataclass
class World:
    """Tables as they are now: values and join keys of each row that is there."""

    shape: Shape
    values: list[dict[Row, tuple[float, ...]]] = field(default_factory=list)
    keys: list[dict[Row, dict[int, int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = [{} for _ in self.shape.widths]
        self.keys = [{} for _ in self.shape.widths]

    def selects(self, ranges: Ranges, s: int, table: int, row: Row, columns: int) -> bool:
        first = int(self.shape.first_column[table])
        return all(
            ranges.low[s, first + k] <= self.values[table][row][k] <= ranges.high[s, first + k] for k in range(columns)
        )

    def semijoin(self, ranges: Ranges, s: int, table: int) -> set[Row]:
        """What a subscription keeps of a table, by the considered attributes."""
        edge = int(ranges.filtering[s, table])
        if edge < 0:
            return set()
        left, right = self.shape.edges[edge]
        other = right if table == left else left
        wide, other_wide = self.shape.considered[table], self.shape.considered[other]
        reached = {
            self.keys[other][row][edge] for row in self.values[other] if self.selects(ranges, s, other, row, other_wide)
        }
        return {
            row
            for row in self.values[table]
            if self.keys[table][row][edge] in reached and self.selects(ranges, s, table, row, wide)
        }

    def join(
        self, ranges: Ranges, s: int, edges: tuple[int, ...], held: list[set[Row]] | None = None
    ) -> set[tuple[Row, ...]]:
        """All results of a subscription, a row a table of its own, out of all rows or of those held."""
        tables = [t for t in range(self.shape.tables) if ranges.filtering[s, t] >= 0]
        chosen = [
            [
                row
                for row in (self.values[t] if held is None else held[t])
                if self.selects(ranges, s, t, row, self.shape.widths[t])
            ]
            for t in tables
        ]
        return {rows for rows in product(*chosen) if self._agree(dict(zip(tables, rows, strict=True)), edges)}

    def _agree(self, rows: dict[int, Row], edges: tuple[int, ...]) -> bool:
        return all(
            self.keys[left][rows[left]][edge] == self.keys[right][rows[right]][edge]
            for edge in edges
            for left, right in [self.shape.edges[edge]]
        )


class Client:
    """Keeps what messages say, for one subscription."""

    def __init__(self, world: World, ranges: Ranges, s: int, *, relaxed: bool = False) -> None:
        """Relaxed: tables are kept whole, as far as they are selected, whether they join or not."""
        self.world, self.ranges, self.s, self.relaxed = world, ranges, s, relaxed
        self.held: list[set[Row]] = [set() for _ in world.shape.widths]
        self.results: set[tuple[Row, ...]] = set()

    def take(self, messages: Messages, m: int) -> None:
        shape, world = self.world.shape, self.world
        form = Form(int(messages.form[m]))
        tuples = [
            (Operation(int(operation)), int(table), int(row))
            for operation, table, row in zip(
                *(part[messages.tuples(m)] for part in (messages.operation, messages.table, messages.row)), strict=True
            )
        ]
        if form in (Form.JOINED, Form.RESULTS):
            for operation, rows in _results(tuples):
                wanted = all(world.selects(self.ranges, self.s, t, row, shape.widths[t]) for t, row in rows)
                assert wanted or form is Form.JOINED
                if operation is Operation.DELETE:
                    self.results.discard(tuple(row for _, row in rows))
                elif wanted:
                    self.results.add(tuple(row for _, row in rows))
            return
        for operation, table, row in tuples:
            if operation is Operation.DROP:
                edge = int(self.ranges.filtering[self.s, table])
                left, right = shape.edges[edge]
                key = world.keys[right if table == left else left][row][edge]
                self._lose(table, edge, key)
            elif operation is Operation.DELETE:
                self.held[table].discard(row)
            elif world.selects(self.ranges, self.s, table, row, shape.considered[table]):
                self.held[table].add(row)
            else:
                assert any(other is Operation.DELETE for other, _, _ in tuples), "sent a row that is not selected"

    def settle(self) -> None:
        """Once a change is over: tables that filter each other lose the rows of keys that the other has none of."""
        filtering = self.ranges.filtering[self.s]
        if self.relaxed:
            return
        for edge, (left, right) in enumerate(self.world.shape.edges):
            if filtering[left] == edge == filtering[right]:
                keys = [{self.world.keys[t][row][edge] for row in self.held[t]} for t in (left, right)]
                for table, lost in ((left, keys[0] - keys[1]), (right, keys[1] - keys[0])):
                    for key in lost:
                        self._lose(table, edge, key)

    def _lose(self, table: int, edge: int, key: int) -> None:
        self.held[table] = {row for row in self.held[table] if self.world.keys[table][row][edge] != key}


def _results(
    tuples: list[tuple[Operation, int, Row]],
) -> Iterator[tuple[Operation, list[tuple[int, Row]]]]:
    start = 0
    for k in range(1, len(tuples) + 1):
        if k == len(tuples) or tuples[k][1] <= tuples[k - 1][1]:
            yield tuples[start][0], [(table, row) for _, table, row in tuples[start:k]]
            start = k


def deliver(messages: Messages, shape: Shape, ranges: Ranges, clients: dict[int, Client]) -> None:
    """Hands every message to those whose filter accepts it."""
    masks = [accepts(messages, m, ranges, shape) for m in range(len(messages))]
    for event in np.unique(messages.event):
        here = np.flatnonzero(messages.event == event)
        for m in here:
            for s in np.flatnonzero(masks[m]):
                if int(s) in clients:
                    clients[int(s)].take(messages, int(m))
        for client in clients.values():
            client.settle()
