"""Random subscriptions and random histories of tables, small enough to be looked at one by one."""

from __future__ import annotations

import numpy as np

from tamis.joins.index.ranges import Ranges, Shape
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.schemes.scheme import Scheme
from tests.joins.reference import World

Signatures = list[tuple[tuple[int, ...], dict[int, int]]]
"""A signature: the edges it has, and for each of its tables the edge that filters it."""


def drawn_ranges(rng: np.random.Generator, shape: Shape, signatures: Signatures, count: int, domain: int) -> Ranges:
    low = rng.integers(0, domain, (count, shape.columns)).astype(float)
    high = low + rng.integers(-1, max(2, domain // 2), low.shape)  # now and then empty
    open_low, open_high = rng.random(low.shape) < 0.1, rng.random(low.shape) < 0.1
    low[open_low], high[open_high] = np.finfo(np.float64).min, np.inf
    free = rng.random(low.shape) < 0.1
    low[free], high[free] = -np.inf, np.inf
    signature = rng.integers(0, len(signatures), count)
    filtering = np.full((count, shape.tables), -1)
    for s in range(count):
        for table, edge in signatures[signature[s]][1].items():
            filtering[s, table] = edge
    return Ranges.of(shape, low, high, filtering, signature)


class History:
    """Draws changes, and makes them in a world and in a scheme alike."""

    def __init__(self, rng: np.random.Generator, scheme: Scheme, world: World, domain: int, keys: int) -> None:
        self._rng, self._scheme, self.world, self._domain, self._keys = rng, scheme, world, domain, keys
        self._gone: list[tuple[int, int]] = []

    def changes(self, count: int) -> Changes:
        """So many changes. What they take away stays readable in the world until `forget`."""
        rng, shape = self._rng, self.world.shape
        table, old, new = [], [], []
        there = [set(rows) for rows in self.world.values]
        for _ in range(count):
            t = int(rng.integers(shape.tables))
            kind = rng.choice(["insert", "insert", "delete", "update"])
            going = int(rng.choice(sorted(there[t]))) if there[t] and kind != "insert" else NO_ROW
            coming = NO_ROW
            if going == NO_ROW or kind == "update":
                coming = self._row(t, going)
                there[t].add(coming)
            if going != NO_ROW:
                there[t].discard(going)
                self._gone.append((t, going))
            table.append(t)
            old.append(going)
            new.append(coming)
        return Changes.of(table, old, new)

    def forget(self) -> None:
        for table, row in self._gone:
            del self.world.values[table][row], self.world.keys[table][row]
        self._gone = []

    def _row(self, table: int, instead: int) -> int:
        rng, shape = self._rng, self.world.shape
        values = tuple(
            float(rng.integers(0, self._domain)) if rng.random() < 0.95 else -np.inf for _ in range(shape.widths[table])
        )
        rows = self._scheme.state.rows[table]
        keys = [int(rng.integers(0, self._keys)) for _ in rows.edges]
        if instead != NO_ROW:
            # An update often keeps its join keys, and now and then everything.
            keys = [
                self.world.keys[table][instead][e] if rng.random() < 0.7 else k
                for e, k in zip(rows.edges, keys, strict=True)
            ]
            values = self.world.values[table][instead] if rng.random() < 0.2 else values
        row = int(rows.put([values], [keys])[0])
        self.world.values[table][row] = values
        self.world.keys[table][row] = dict(zip(rows.edges, keys, strict=True))
        return row
