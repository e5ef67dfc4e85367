"""Index of join servers: tables and subscriptions as arrays by number, B-trees, stabbing sets, edges' states and
kernels, messages and their outbox.
"""
