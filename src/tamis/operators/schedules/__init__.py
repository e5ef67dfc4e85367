"""Schedules: evaluation orders of predicates that decide all subscriptions at the least cost, by name."""

from __future__ import annotations

from typing import Final

from tamis.errors import OperatorError
from tamis.lazy_registry import LazyRegistry
from tamis.operators.schedules.problem import Problem
from tamis.operators.schedules.running import Asked, Evidence, Live, Record, Run, Trail
from tamis.operators.schedules.schedule import Schedule

__all__ = [
    "SCHEDULES",
    "Asked",
    "Evidence",
    "Live",
    "Problem",
    "Record",
    "Run",
    "Schedule",
    "Trail",
    "require_schedule",
    "schedule",
]

SCHEDULES: Final[LazyRegistry[type[Schedule]]] = LazyRegistry(
    {
        "naive": "tamis.lab.schedules.sub_order:Naive",
        "sequential": "tamis.lab.schedules.sub_order:Sequential",
        "sequential-stopping": "tamis.lab.schedules.sub_order:Stopping",
        "sub-order": "tamis.lab.schedules.sub_order:SubOrder",
        "adaptive": "tamis.operators.schedules.adaptive.schedule:Adaptive",
    }
)
"""All schedules, by name: each is loaded when it is first asked for."""


def schedule(name: str, problem: Problem) -> Schedule:
    """Builds the schedule of that name for a problem."""
    require_schedule(name)
    return SCHEDULES[name](problem)


def require_schedule(name: str) -> None:
    """Raises `OperatorError` if there is no schedule of that name."""
    if name not in SCHEDULES:
        raise OperatorError(f"there is no schedule {name!r}; there are {', '.join(SCHEDULES)}")
