"""Adaptive: what decides most for its cost comes next, by selectivities and costs learned from the stream."""

from tamis.operators.schedules.adaptive.schedule import Adaptive

__all__ = ["Adaptive"]
