"""Common parts of P3's Figures 13 and 14: decompositions of multi-way joins, and a point's traffic over a simulated
network.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from tamis.arrays import Int64s
from tamis.joins.multiway import decomposed, parametric_costs
from tamis.lab.measuring import Point, Rows
from tamis.lab.simulation.joins import MIX_SHAPE, simulate_mix
from tamis.lab.simulation.simulation import overlay_of
from tamis.workloads.select_joins import COUNTS, JOINING, SIGNATURES, JoinMix, S, join_mix

NAMES_OF = "RSTU"
SUBSCRIPTIONS = sum(COUNTS)
MIX = "50,000 R⋈S, 50,000 R⋈S⋈T, 50,000 R⋈S⋈T⋈U and 20,000 S⋈T⋈U subscriptions, as in the paper"


@lru_cache(maxsize=1)
def _mix(events: int, seed: int, star: bool, scale: float) -> JoinMix:
    return join_mix(events, seed, star=star, scale=scale)


def costs() -> list[float]:
    """Costs of the groups by the parametric model: rows spread evenly over all tables, rows a join key as they are."""
    joining = [[JOINING[table] for table in edge] for edge in MIX_SHAPE.edges]
    return [float(cost) for cost in parametric_costs(MIX_SHAPE, [0.25] * 4, joining)]


def greedy() -> Int64s:
    return decomposed(MIX_SHAPE, np.array(costs()))


def choices() -> dict[str, Int64s]:
    """All decompositions: which table filters S in each signature that leaves a choice."""
    options = [[edge for edge in edges if S in MIX_SHAPE.edges[edge]] for edges in SIGNATURES]
    found = {}
    for chosen in product(*options):
        decomposition = greedy().copy()
        decomposition[:, S] = chosen
        found[
            "".join(NAMES_OF[MIX_SHAPE.edges[edge][1] if MIX_SHAPE.edges[edge][0] == S else 0] for edge in chosen)
        ] = decomposition
    return found


def carried_mix(point: Point) -> Rows:
    """Traffic by event of one scheme and one decomposition over a CAN."""
    events = int(point["events"])
    mix = _mix(events, int(point["seed"]), bool(point["star"]), int(point["subscriptions"]) / SUBSCRIPTIONS)
    traffic = simulate_mix(
        str(point["scheme"]), mix, overlay_of(int(point.get("nodes", 1_000))), choices()[str(point["decomposition"])],
        events=events, bulky=[int(table) for table in str(point.get("bulky", "0 1 2 3")).split()],
    )  # fmt: skip
    return [{name: value for name, value in traffic.row.items() if name != "events"}]
