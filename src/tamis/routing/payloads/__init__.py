"""CN*: each link carries a payload once, and names it from then on (Chandramouli & Yang 2008, §5, App. G, H).

kernels.py   which payloads a node has, and over which links each has gone: for many nodes at once
node.py      one node as brokers use it: parcels in, what to do out; no transport
"""

from tamis.routing.payloads.node import (
    Acknowledge,
    Action,
    Ask,
    Carried,
    Deliver,
    Lost,
    Parcel,
    PayloadNode,
    Send,
    payload_id,
)

__all__ = ["Acknowledge", "Action", "Ask", "Carried", "Deliver", "Lost", "Parcel", "PayloadNode", "Send", "payload_id"]
