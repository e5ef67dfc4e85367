"""Content-driven networks: zones (CAN) and filtering links, which route a message to its subscribers (Chandramouli &
Yang 2008, §2.1, §5).

A subscription is a point: the two ends of each of its ranges. A message's recipients are a region, a union of boxes of
such points. A network has a number of nodes, each with its share of the subscriptions, and gives for a region the tree
of nodes that a message goes through; nodes hand it to those of their subscriptions that lie in the region.

links.py   regions, messages and their trees; and the content-based network, whose links know the ranges behind them
zones.py   the content-addressable network: nodes that own zones of the space

Payloads that a link carries once are in routing/payloads, for brokers and simulations alike.
"""
