"""Code that runs in Spark's Python workers. Arrow batches in, Arrow batches out; the driver sends these objects by
value.
"""
