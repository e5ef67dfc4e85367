"""Content-based routing for a network of brokers: covering, merging, routing tables, and payload caching on links.

covering/   decides whether one filter matches everything that another one matches
standing/   the covering table: subscriptions of one side, of which only the uncovered ones are forwarded
merging/    similar filters forwarded as one
payloads/   CN*: a payload goes over a link once, and by name from then on
tables.py   the routing table of a broker, for subscriptions and advertisements alike
"""
