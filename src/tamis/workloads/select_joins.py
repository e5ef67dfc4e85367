"""Join workloads of P3 (Chandramouli & Yang, §6): select-joins R(A, B), S(B, C), and the mix of multi-way joins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Floats, Int64s
from tamis.workloads.workload import numbered

DOMAIN = 100_000.0
KEYS, JOINING_KEYS = 100, 70
LARGEST, EXPONENT = 260, 0.8
R_ROWS, S_ROWS = 16_000, 5_100
SPREADS = (10_000, 6_000)


@dataclass(frozen=True)
class SelectJoins:
    """Workload of select-joins: subscriptions as intervals, two tables, and a sequence of further rows of R.

    Subscription i selects R.A in [`a_low[i]`, `a_high[i]`] and S.C in [`c_low[i]`, `c_high[i]`]. S is there from the
    beginning, row i being (`s_keys[i]`, `s_values[i]`). Of R the first `r_rows` are; each further one that comes drives
    out the oldest.
    """

    a_low: Floats
    a_high: Floats
    c_low: Floats
    c_high: Floats
    s_keys: Int64s
    s_values: Floats
    r_keys: Int64s
    r_values: Floats
    r_rows: int

    @property
    def events(self) -> int:
        return len(self.r_keys) - self.r_rows

    def texts(self) -> pa.Table:
        """Subscriptions as a table of ids and texts."""
        parts = [pa.array(part).cast(pa.string()) for part in (self.a_low, self.a_high, self.c_low, self.c_high)]
        return numbered(
            pc.binary_join_element_wise(
                "SELECT * FROM R JOIN S USING (B) WHERE R.A BETWEEN ",
                parts[0],
                " AND ",
                parts[1],
                " AND S.C BETWEEN ",
                parts[2],
                " AND ",
                parts[3],
                "",
            )
        )


def select_joins(
    subscriptions: int,
    events: int,
    seed: int = 1,
    *,
    r_rows: int = R_ROWS,
    s_rows: int = S_ROWS,
    spreads: tuple[int, int] = SPREADS,
) -> SelectJoins:
    """Generates the workload of Table 2 of the paper, in the reading that gives its Table 4.

    Range centres and the A of R's rows lie low or high, independently of each other; a width below zero is taken
    without its sign. S has rows on 70 of the 100 keys: their numbers are distributed as k^-0.8 up to 260 and scaled to
    `s_rows`, their C lies about a middle that each key draws. The numbers of rows are the same for every seed, dealt to
    the keys at random. A few keys with many rows carry most of the joins, and where these lie decides much: take the
    median of ten seeds or more. `spreads` are those of the range centres on A and on C: the less, the more ranges
    overlap (Figure 19).
    """
    # Tables and events have draws of their own: they are the same for any number of subscriptions.
    rng = np.random.default_rng([seed, 0])
    a_low, a_high = _ranges(rng, subscriptions, (30_000, 70_000), spreads[0], (20_000, 5_000))
    c_low, c_high = _ranges(rng, subscriptions, (15_000, 85_000), spreads[1], (6_000, 5_000))
    rng = np.random.default_rng([seed, 1])
    counts = rng.permutation(_counts(s_rows))
    middles = 50_000 + 10_000 * rng.standard_normal(JOINING_KEYS)
    s_keys = np.repeat(rng.permutation(KEYS)[:JOINING_KEYS], counts)
    s_values = np.repeat(middles, counts) + 3_000 * rng.standard_normal(len(s_keys))
    rows = r_rows + events
    r_keys = rng.integers(0, KEYS, rows)
    middle = rng.choice((25_000.0, 75_000.0), rows) + 3_000 * rng.standard_normal(rows)
    r_values = middle + 8_000 * rng.standard_normal(rows)
    return SelectJoins(
        a_low, a_high, c_low, c_high, s_keys, s_values.clip(0, DOMAIN), r_keys, r_values.clip(0, DOMAIN), r_rows
    )


def _ranges(
    rng: np.random.Generator, count: int, modes: tuple[int, int], spread: int, width: tuple[int, int]
) -> tuple[Floats, Floats]:
    centre = rng.choice(np.array(modes, np.float64), count) + spread * rng.standard_normal(count)
    half = np.abs(width[0] + width[1] * rng.standard_normal(count)) / 2
    return centre - half, centre + half


def _counts(total: int) -> Int64s:
    """Number of rows of each joining key, in ascending order."""
    weights = np.arange(1, LARGEST + 1) ** -EXPONENT
    shares = np.cumsum(weights) / weights.sum()
    places = (np.arange(JOINING_KEYS) + 0.5) / JOINING_KEYS
    drawn = np.searchsorted(shares, places) + 1.0
    scaled = drawn * total / drawn.sum()
    counts = np.maximum(1, np.floor(scaled)).astype(np.int64)
    counts[-1] += max(0, total - int(counts.sum()))
    return counts


# Multi-way select-joins of P3 §6.3: tables R, S, T and U, with S in the middle.

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
    """Workload of multi-way joins: subscriptions as an interval a table and a signature, four tables, and further rows.

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
    """Generates the mix in the general schema, or the star schema: S a fact table, the others its dimensions.

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
    """Ranges of Table 2: on S those of S.C, on the others those of R.A."""
    modes, spread, width = ((15_000, 85_000), 6_000, (6_000, 5_000)) if table == S else (
        (30_000, 70_000), 10_000, (20_000, 5_000))  # fmt: skip
    centre = rng.choice(np.array(modes, np.float64), count) + spread * rng.standard_normal(count)
    half = np.abs(width[0] + width[1] * rng.standard_normal(count)) / 2
    return centre - half, centre + half


def _values(rng: np.random.Generator, table: int, middles: Floats, keys: Int64s) -> Floats:
    """Values of Table 2: of S about a middle of its key with R, of the others low or high."""
    count = len(keys)
    if table == S:
        drawn = middles[keys[:, 0]] + 3_000 * rng.standard_normal(count)
    else:
        middle = rng.choice((25_000.0, 75_000.0), count) + 3_000 * rng.standard_normal(count)
        drawn = middle + 8_000 * rng.standard_normal(count)
    return drawn.clip(0, DOMAIN)
