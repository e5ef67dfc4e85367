"""The papers' figures, measured anew on Spark: one folder a paper, one file a figure (`tamis experiments`).

point_store.py  finished points, as Parquet
reporting.py    which papers and figures there are, their points spread over Spark's workers, docs/reproduction.md
"""
