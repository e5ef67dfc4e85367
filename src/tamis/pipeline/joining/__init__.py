"""Joins on Spark: changes of tables in, changes of contents out; the tables are Spark's state."""
