"""Routing knowledge of a broker: covering, merging and routing tables."""
