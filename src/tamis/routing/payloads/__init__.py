"""CN* payload caching: each link carries a payload once, and its name from then on (Chandramouli & Yang 2008, §5).

kernels.py   payload directory and LRU repository as flat arrays, for many nodes at once (App. G, H)
node.py      one node as brokers use it: parcels in, actions out; no transport
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
