"""Workloads: named, seeded generators of subscriptions and events, for demo, benchmarks, experiments and tests.

workload = named("w4")(subscriptions=10_000, events=256, seed=1)
workload = named("le_subscribe(p=1)")(subscriptions=10_000, events=256, seed=1)
"""

from tamis.workloads.auction_lots import auctions
from tamis.workloads.city_subscriptions import CityWatch, city_watch
from tamis.workloads.naming import NAMES, READABLE, named
from tamis.workloads.papers import gryphon, gryphon_hard, le_subscribe
from tamis.workloads.stock_quotes import padres_sets, stock_quotes
from tamis.workloads.workload import Workload

__all__ = [
    "NAMES",
    "READABLE",
    "CityWatch",
    "Workload",
    "auctions",
    "city_watch",
    "gryphon",
    "gryphon_hard",
    "le_subscribe",
    "named",
    "padres_sets",
    "stock_quotes",
]
