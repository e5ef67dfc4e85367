"""The papers' figures, measured anew on Spark: one folder a paper, one file a figure (`tamis experiments`).

catalogue.py    which papers and figures there are
point_store.py  finished points, as Parquet
running.py      the points spread over Spark's workers
reporting.py    docs/reproduction.md
"""
