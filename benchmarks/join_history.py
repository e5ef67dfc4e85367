"""A history of two tables for the lines about joins on Spark: 64 keys, rows that come, change and go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.schema import Schema

SCHEMA = Schema.from_yaml("""
attributes: {id: integer, A: float, B: integer, C: float}
event_types: {R: {id: mandatory, B: mandatory, A: mandatory}, S: {id: mandatory, B: mandatory, C: mandatory}}
tables:
  R: {key: [B, id], join: [B]}
  S: {key: [B, id], join: [B]}
""")
KEYS, ROWS, DOMAIN = 64, 40, 100_000.0
WIDTH_A, WIDTH_C = 2_000.0, 4_000.0


def subscriptions(count: int, seed: int = 1) -> dict[str, str]:
    """Selections of both tables, of a width that makes some results an event at a thousand of them."""
    rng = np.random.default_rng([seed, 0])
    a, c = rng.uniform(0, DOMAIN - WIDTH_A, count), rng.uniform(0, DOMAIN - WIDTH_C, count)
    return {
        f"s{n}": f"SELECT * FROM R JOIN S USING (B) WHERE R.A BETWEEN {a[n]:.3f} AND {a[n] + WIDTH_A:.3f} "
        f"AND S.C BETWEEN {c[n]:.3f} AND {c[n] + WIDTH_C:.3f}"
        for n in range(count)
    }


def history(count: int, seed: int = 1, hot: float = 0.0) -> pa.Table:
    """Changes in order, by the column `n`: rows of each key are put, put anew and deleted again.

    `hot` is the share of events that have the first key.
    """
    rng = np.random.default_rng([seed, 1])
    r = rng.random(count) < 0.7
    keys = np.where(rng.random(count) < hot, 0, rng.integers(0, KEYS, count))
    ids = rng.integers(0, ROWS, count)
    seen: set[tuple[bool, int, int]] = set()
    deleted = np.zeros(count, np.bool_)
    wanted = rng.random(count) < 0.2
    for n, row in enumerate(zip(r.tolist(), keys.tolist(), ids.tolist(), strict=True)):
        if wanted[n] and row in seen:
            deleted[n] = True
            seen.discard(row)
        else:
            seen.add(row)
    values = rng.uniform(0, DOMAIN, count)
    gone = pa.array(deleted)
    absent = pa.scalar(None, pa.float64())
    return pa.table(
        {
            "n": np.arange(count),
            "event_type": pa.array([["R"] if one else ["S"] for one in r.tolist()], pa.list_(pa.string())),
            "operation": pa.array(["delete" if one else None for one in deleted.tolist()], pa.string()),
            "id": ids,
            "B": keys,
            "A": pc.if_else(pc.or_(gone, pa.array(~r)), absent, pa.array(values)),
            "C": pc.if_else(pc.or_(gone, pa.array(r)), absent, pa.array(values)),
        }
    )
