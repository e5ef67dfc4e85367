"""Matching of events with plain filters: matchers and their index, patterns, intake of subscriptions, explanations, and
the oracle.
"""
