"""A content-based network (CBN): every link knows the ranges of the subscriptions behind it.

See Chandramouli & Yang 2008, App. A.

summaries.py   many points as few boxes
kernels.py     whether a region touches what is behind a link; the way through a tree of nodes
network.py     a tree of nodes with its links' filters
"""

from tamis.dissemination.links.network import LinkNetwork

__all__ = ["LinkNetwork"]
