"""In which order to evaluate predicates, so that all subscriptions are decided at the least cost."""

from __future__ import annotations

from tamis.errors import TamisError
from tamis.operators.schedules.adaptive import Adaptive
from tamis.operators.schedules.naive import Naive
from tamis.operators.schedules.problem import Problem
from tamis.operators.schedules.record import Evidence, Record, Trail
from tamis.operators.schedules.running import Asked, Live, Run
from tamis.operators.schedules.schedule import Schedule
from tamis.operators.schedules.sequential import Sequential, Stopping
from tamis.operators.schedules.sub_order import SubOrder

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
    "schedule",
]

SCHEDULES: dict[str, type[Schedule]] = {each.name: each for each in (Naive, Sequential, Stopping, SubOrder, Adaptive)}


def schedule(name: str, problem: Problem) -> Schedule:
    """The schedule of that name for a problem."""
    if name not in SCHEDULES:
        raise TamisError(f"there is no schedule {name!r}; there are {', '.join(SCHEDULES)}")
    return SCHEDULES[name](problem)
