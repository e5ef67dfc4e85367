"""Measuring harness that `tamis bench`, the benchmarks and the experiments share; `numbers.py` writes numbers."""
