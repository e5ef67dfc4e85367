"""Columnar index: a planner of the columns to look conjunctions up by, hash buckets laid out flat, and kernels that
probe and verify them.
"""
