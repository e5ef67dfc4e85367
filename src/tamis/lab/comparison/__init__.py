"""Matchers beside each other: what each costs on a workload, measured alike."""

from tamis.lab.comparison.apart import Terms
from tamis.lab.comparison.grid import Cell, Problem, compare
from tamis.lab.comparison.measuring import Adding, Measurement, measure, measure_adding

__all__ = ["Adding", "Cell", "Measurement", "Problem", "Terms", "compare", "measure", "measure_adding"]
