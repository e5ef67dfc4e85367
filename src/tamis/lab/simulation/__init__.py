"""Simulation of networks of brokers: topologies, and messages of join schemes sent through them by the million.

topology.py    an Internet-like graph
overlay.py     nodes of a network placed on it
spaces.py      which subscriptions of a shape share a network
reading.py     messages of schemes as networks see them
accounting/    the way of each message gone through and added up
traffic.py     what it came to
simulation.py  all of it together
joins.py       a workload and a scheme over a network, from beginning to end
"""
