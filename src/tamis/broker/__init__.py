"""Brokers: several Tamis linked into one, each link carrying only what somebody behind it asked for."""
