"""Adaptive schedule: the predicate that decides most for its cost comes next, by learned selectivities and costs."""

from tamis.operators.schedules.adaptive.schedule import Adaptive

__all__ = ["Adaptive"]
