"""Matchers beside each other: what each costs on a workload, measured alike."""

from tamis.comparison.adding import Adding, measure_adding
from tamis.comparison.measuring import Measurement, measure

__all__ = ["Adding", "Measurement", "measure", "measure_adding"]
