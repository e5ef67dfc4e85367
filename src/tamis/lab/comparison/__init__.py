"""Comparison of matchers: time and memory of each on a workload, measured alike (`tamis bench`, P2's figures).

measuring.py   build and match time of one matcher; grid.py: any matchers on any workloads
apart.py       a measuring process with limits of time and memory; worker.py: what runs in it
"""

from tamis.lab.comparison.apart import Terms
from tamis.lab.comparison.grid import Cell, Problem, compare
from tamis.lab.comparison.measuring import Adding, Measurement, measure, measure_adding

__all__ = ["Adding", "Cell", "Measurement", "Problem", "Terms", "compare", "measure", "measure_adding"]
