"""Joins on Spark: changes of tables in, changes of results out; the tables are Spark's state."""
