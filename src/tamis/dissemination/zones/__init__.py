"""A content-addressable network (CAN): every node owns a zone of the space of subscriptions.

See Chandramouli & Yang 2008, App. A.

splitting.py   the space cut into zones of equal load
kernels.py     which zone a point is in; the way to a region, and through it
network.py     zones with their neighbours, owners and subscriptions
"""

from tamis.dissemination.zones.network import ZoneNetwork

__all__ = ["ZoneNetwork"]
