"""Common parts of P3's network figures: a point of one scheme over a simulated network, medians and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import Any

from tamis.lab.experiments.p3.schemes import NAMES
from tamis.lab.measuring import Check, Point, Row, Rows, one
from tamis.lab.simulation.joins import simulate
from tamis.lab.simulation.simulation import Star, overlay_of
from tamis.workloads.select_joins import R_ROWS, S_ROWS, SPREADS, SelectJoins, select_joins

SEEDS = (1,)
EVENTS = 300
SUBSCRIPTIONS = 100_000
PAYLOAD = 100
NETWORK = (
    "A CAN of 1,000 nodes, of equal numbers of subscriptions, dealt to 1,000 nodes of a generated Internet-like "
    "topology of 20,000; messages with an address go to it in one hop. An event is a row of R that comes and the "
    "oldest that goes"
)
ONE_SEED = f"One seed, {EVENTS:,} events, the same for all schemes"
_NUMBERS = (
    "injected", "injected_bytes", "bytes", "hops", "link_bytes", "server", "most_stressed", "fan_out", "hop_latency",
    "last_hop", "delivered", "asks", "idle",
)  # fmt: skip


@lru_cache(maxsize=1)  # the schemes at one size come one after the other
def workload(
    subscriptions: int, events: int, seed: int, r_rows: int, s_rows: int, spreads: tuple[int, int]
) -> SelectJoins:
    return select_joins(subscriptions, events, seed, r_rows=r_rows, s_rows=s_rows, spreads=spreads)


def carried(point: Point) -> Rows:
    """Traffic by event of one scheme over one network."""
    events, warm_up = int(point["events"]), int(point.get("warm_up", 0))
    chosen = workload(
        int(point["subscriptions"]), events + warm_up, int(point["seed"]), int(point.get("r_rows", R_ROWS)),
        int(point.get("s_rows", S_ROWS)),
        (int(point.get("spread_a", SPREADS[0])), int(point.get("spread_c", SPREADS[1]))),
    )  # fmt: skip
    repository = point.get("repository", "none")
    traffic = simulate(
        str(point["scheme"]), chosen, overlay_of(int(point.get("nodes", 1_000))),
        network=str(point.get("network", "zones")), events=events, warm_up=warm_up,
        payload=int(point.get("payload", PAYLOAD)), counting=bool(point.get("counting", False)),
        star=None if repository == "none" else Star(repository=int(repository)),
    )  # fmt: skip
    return [{name: value for name, value in traffic.row.items() if name != "events"}]


def over_seeds(points: Sequence[Mapping[str, Any]], scale: float) -> list[Point]:
    """Points for every seed; at smaller scales with fewer subscriptions, events and nodes."""
    found: list[Point] = []
    for seed in SEEDS if scale >= 1 else SEEDS[:1]:
        for point in points:
            made = {"events": EVENTS, "subscriptions": SUBSCRIPTIONS, **point, "seed": seed}
            if scale < 1:
                made["subscriptions"] = max(50, round(made["subscriptions"] * scale))
                made |= {"events": 20, "nodes": 50}
                if "warm_up" in made:
                    made["warm_up"] = 20
            if made not in found:
                found.append(made)
    return found


def medians(rows: Rows, by: Sequence[str]) -> list[Row]:
    """Medians over the seeds of everything counted, in the order in which points come."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    found: list[Row] = []
    for key, some in groups.items():
        numbers = {name: median(float(row[name]) for row in some) for name in _NUMBERS}
        found.append({**dict(zip(by, key, strict=True)), **numbers, "kilobytes": numbers["bytes"] / 1000})
    return found


def order(rows: Rows, schemes: Sequence[str], number: str, x: str, factor: float = 1.0) -> list[Check]:
    """Checks that each scheme has more of something than the next, at every place."""
    places = sorted({row[x] for row in rows})
    checks = []
    for more, less in pairwise(schemes):
        ratios = [
            one(rows, scheme=more, **{x: at})[number] / max(1.0, one(rows, scheme=less, **{x: at})[number])
            for at in places
        ]
        checks.append(
            Check(
                f"{NAMES[more]} ÷ {NAMES[less]}", "> 1" if factor == 1 else f"≥ {factor:g}",
                f"{min(ratios):.1f} to {max(ratios):.1f}", min(ratios) > 1 if factor == 1 else min(ratios) >= factor,
            )
        )  # fmt: skip
    return checks


def against(
    rows: Rows, scheme: str, others: Sequence[str], number: str, x: str, said: str, least: float
) -> list[Check]:
    """Checks of the least ratio, over all places, of other schemes to one."""
    places = sorted({row[x] for row in rows})
    checks = []
    for other in others:
        ratios = [
            one(rows, scheme=other, **{x: at})[number] / max(1.0, one(rows, scheme=scheme, **{x: at})[number])
            for at in places
        ]
        checks.append(
            Check(
                f"{NAMES[other]} ÷ {NAMES[scheme]}",
                said,
                f"{min(ratios):.1f} to {max(ratios):.1f}",
                min(ratios) >= least,
            )
        )
    return checks


def growth(rows: Rows, scheme: str, number: str, x: str) -> float:
    """Ratio of a scheme's value at the last place to that at the first."""
    places = sorted({row[x] for row in rows})
    start, stop = (one(rows, scheme=scheme, **{x: at})[number] for at in (places[0], places[-1]))
    return float(stop / max(1.0, start))
