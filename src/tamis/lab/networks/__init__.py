"""Content-driven networks: messages on their way to those they are for (Chandramouli & Yang 2008, §2.1, §5).

A subscription is a point: the two ends of each of its ranges. Whom a message is for is a region, a union of boxes of
such points. A network has so many nodes, each with its share of the subscriptions, and gives for a region the tree of
nodes that a message goes through; nodes hand it to those of their subscriptions that lie in the region.

links.py   regions, the way of one message, and the content-based network: links that know the ranges behind them
zones.py   content-addressable network: nodes that own zones of the space

Bulky contents that a link carries once are in `tamis.routing.payloads`, which brokers use too.
"""
