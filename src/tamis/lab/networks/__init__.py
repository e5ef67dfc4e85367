"""Content-driven networks: messages on their way to those they are for (Chandramouli & Yang 2008, §2.1, §5).

A subscription is a point: the two ends of each of its ranges. Whom a message is for is a region, a union of boxes of
such points. A network has so many nodes, each with its share of the subscriptions, and gives for a region the tree of
nodes that a message goes through; nodes hand it to those of their subscriptions that lie in the region.

regions.py   points, regions, and which points a region holds
trees.py     the way of one message: what both networks give
links/       content-based network: links that know the ranges behind them
zones/       content-addressable network: nodes that own zones of the space
payloads/    bulky contents that a link carries once: directory and repository of a CN* node
"""
