"""Named, seeded generators: demo, benchmarks, experiments and tests all draw from here.

workload = named("w4")(subscriptions=10_000, events=256, seed=1)
"""

from __future__ import annotations

from collections.abc import Callable

from tamis.errors import TamisError
from tamis.workloads import exploration
from tamis.workloads.auctions import auctions
from tamis.workloads.city_watch import CityWatch, city_watch
from tamis.workloads.le_subscribe import le_subscribe
from tamis.workloads.stock_quotes import stock_quotes
from tamis.workloads.workload import Workload

__all__ = ["NAMES", "CityWatch", "Workload", "auctions", "city_watch", "le_subscribe", "named", "stock_quotes"]

_GENERATORS: dict[str, Callable[..., Workload]] = {
    "auctions": auctions,
    "le_subscribe": le_subscribe,
    "w1": exploration.w1,
    "w1p1": exploration.w1p1,
    "w2": exploration.w2,
    "w2z": exploration.w2z,
    "w3": exploration.w3,
    "w4": exploration.w4,
    "w5": exploration.w5,
    "w5s": exploration.w5s,
    "w6": exploration.w6,
    "w6a": exploration.w6a,
}
NAMES = tuple(_GENERATORS)


def named(name: str) -> Callable[..., Workload]:
    """The generator of that name: a function of (subscriptions, events, seed=1)."""
    if name not in _GENERATORS:
        raise TamisError(f"there is no workload {name!r}; there are {', '.join(NAMES)}")
    return _GENERATORS[name]
