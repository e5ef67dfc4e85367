"""Simulation of broker networks: Internet-like topologies, and the traffic of join schemes over them (`tamis
simulate`).

simulation.py  topology, overlay of nodes on it, and the messages sent through both
spaces.py      subscriptions that share a network, and messages of schemes as networks see them
accounting.py  bytes, hops and latency added up along each message's tree
joins.py       a workload and a scheme over a network, from beginning to end
"""
