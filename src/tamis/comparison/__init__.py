"""Matchers beside each other: what each costs on a workload, measured alike."""

from tamis.comparison.adding import Adding, measure_adding
from tamis.comparison.apart import Terms
from tamis.comparison.grid import Cell, Problem, compare
from tamis.comparison.measuring import Measurement, measure

__all__ = ["Adding", "Cell", "Measurement", "Problem", "Terms", "compare", "measure", "measure_adding"]
