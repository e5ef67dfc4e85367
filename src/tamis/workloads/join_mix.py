"""The mix of multi-way select-joins of P3 §6.3: tables R, S, T and U, with S in the middle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, Int64s

DOMAIN = 100_000.0
R, S, T, U = range(4)
EDGES = ((R, S), (S, T), (S, U))
EDGES_OF = ((0,), (0, 1, 2), (1,), (2,))
"""The edges of each table, ascending."""
SIGNATURES = ((0,), (0, 1), (0, 1, 2), (1, 2))
"""R⋈S, R⋈S⋈T, R⋈S⋈T⋈U and S⋈T⋈U, by their edges."""
COUNTS = (50_000, 50_000, 50_000, 20_000)
MIX_KEYS, JOINING = 100, (10, 70, 70, 30)
FACTS, DIMENSIONS = 25_000, 1_000


@dataclass(frozen=True)
class JoinMix:
    """Subscriptions as an interval a table and a signature, four tables, and rows that come one after the other.

    `values[t]` and `keys[t]` are the rows of table t that are there from the beginning, keys by the table's edges.
    Event e is a row of table `table[e]`, its value and keys (by edge, of which it has the table's own) in the same
    places of `coming` and `coming_keys`. The oldest row of that table goes; with `replacing` it is one that the new row
    replaces: these have the same keys.
    """

    low: Floats
    high: Floats
    signature: Int64s
    values: tuple[Floats, ...]
    keys: tuple[Int64s, ...]
    table: Int64s
    coming: Floats
    coming_keys: Int64s
    replacing: npt.NDArray[np.bool_]

    @property
    def events(self) -> int:
        return len(self.table)


def join_mix(events: int, seed: int = 1, *, star: bool = False, scale: float = 1.0) -> JoinMix:
    """The general schema, or the star schema: S a fact table, the others its dimensions.

    In the general schema R, S, T and U have 10, 70, 70 and 30 rows for each of 100 join keys; a row of S has one key by
    which it joins all the others. In the star schema there are 25,000 facts, each of which joins one row of every
    dimension by a key of its own, and dimensions of 1,000 rows, one a key, which new versions replace one after the
    other. Events come to all tables alike. `scale` makes subscriptions fewer.
    """
    rng = np.random.default_rng([seed, 30])
    counts = [max(1, round(count * scale)) for count in COUNTS]
    signature = np.repeat(np.arange(len(SIGNATURES)), counts)
    spans = [_spans(rng, len(signature), table) for table in range(4)]
    low, high = (np.column_stack([span[end] for span in spans]) for end in (0, 1))
    rng = np.random.default_rng([seed, 31])
    keys = DIMENSIONS if star else MIX_KEYS
    middles = 50_000 + 10_000 * rng.standard_normal(keys)
    tables, values, table_keys = range(4), [], []
    for table in tables:
        rows = (FACTS if table == S else DIMENSIONS) if star else MIX_KEYS * JOINING[table]
        drawn = _keys(rng, keys, rows, table, star)
        if star and table != S:
            drawn = np.arange(rows)[:, None]
        table_keys.append(drawn.astype(np.int64))
        values.append(_values(rng, table, middles, drawn))
    table_of = rng.integers(0, 4, events)
    coming_keys = np.zeros((events, len(EDGES)), np.int64)
    coming = np.empty(events)
    for table in tables:
        here = np.flatnonzero(table_of == table)
        drawn = _keys(rng, keys, len(here), table, star)
        if star and table != S:
            drawn = (np.arange(len(here)) % DIMENSIONS)[:, None]
        coming_keys[here[:, None], list(EDGES_OF[table])] = drawn
        coming[here] = _values(rng, table, middles, drawn)
    replacing = (table_of != S) & star
    return JoinMix(low, high, signature, tuple(values), tuple(table_keys), table_of, coming, coming_keys, replacing)


def _keys(rng: np.random.Generator, keys: int, rows: int, table: int, star: bool) -> Int64s:
    """Join keys by row and edge: of facts each drawn, else one for all edges."""
    edges = len(EDGES_OF[table])
    if star:
        return rng.integers(0, keys, (rows, edges))
    return np.repeat(rng.integers(0, keys, (rows, 1)), edges, axis=1)


def _spans(rng: np.random.Generator, count: int, table: int) -> tuple[Floats, Floats]:
    """Ranges of Table 2: on S as on S.C there, on the others as on R.A."""
    modes, spread, width = ((15_000, 85_000), 6_000, (6_000, 5_000)) if table == S else (
        (30_000, 70_000), 10_000, (20_000, 5_000))  # fmt: skip
    centre = rng.choice(np.array(modes, np.float64), count) + spread * rng.standard_normal(count)
    half = np.abs(width[0] + width[1] * rng.standard_normal(count)) / 2
    return centre - half, centre + half


def _values(rng: np.random.Generator, table: int, middles: Floats, keys: Int64s) -> Floats:
    """Values of Table 2: of S about a middle that its key with R has, of the others low or high."""
    count = len(keys)
    if table == S:
        drawn = middles[keys[:, 0]] + 3_000 * rng.standard_normal(count)
    else:
        middle = rng.choice((25_000.0, 75_000.0), count) + 3_000 * rng.standard_normal(count)
        drawn = middle + 8_000 * rng.standard_normal(count)
    return drawn.clip(0, DOMAIN)
