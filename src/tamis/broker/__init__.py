"""Broker network: several Tamis brokers linked into one, each link carrying only events that somebody behind it
subscribed to.

process.py                   runs a broker: one thread for its state machine, gRPC streams around it
broker.py                    the state machine: connections, link_desk.py for neighbours, client_desk.py for clients
messages.py, events.py       the wire protocol, and events on it
filters.py, traffic.py, outbox.py, store.py   routing tables, event routing, queues to hops, state on disk
settling.py, link.py         overlay and acknowledgement of changes; links with payload caching
client.py, access.py         the client library; credentials and channels
"""
