"""Simulation of networks of brokers: topologies, and messages of join schemes sent through them by the million.

spaces.py      which subscriptions of a shape share a network, and messages of schemes as networks see them
accounting.py  the way of each message gone through and added up, and what it came to
simulation.py  an Internet-like graph, the nodes of a network placed on it, and all of it together
joins.py       a workload and a scheme over a network, from beginning to end
"""
