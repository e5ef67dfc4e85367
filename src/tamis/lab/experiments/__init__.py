"""The papers' figures, measured anew on Spark: one folder a paper, one file a figure (`tamis experiments`).

catalogue.py    which papers and figures there are
figure.py       what a figure is: claim, grid of points, run, drawing, verdict
results.py      finished points, as Parquet
running.py      the points spread over Spark's workers
drawing.py      what the pictures have in common
reporting.py    docs/reproduction.md
"""
