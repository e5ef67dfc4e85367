"""Experiments: the papers' figures, measured anew on Spark; one folder a paper, one file a figure (`tamis
experiments`).

point_store.py  finished points, as Parquet
reporting.py    the catalogue of papers and figures, running of points on Spark, and docs/reproduction.md
p0/ to p4/      the papers
"""
