"""Measuring harness that `tamis bench`, the benchmarks and the experiments share.

timing.py       seconds of a call, the best of several calls in turn, percentiles
occasion.py     when and on which machine something was measured
numbers.py      numbers and durations written for people
markdown.py     tables for pages
figure.py       a figure of a paper: claim, grid of points, run, drawing, verdict
drawing.py      what pictures have in common
"""
