"""Code of Spark's Python workers. Arrow batches in, Arrow batches out; the driver sends these objects by value."""
